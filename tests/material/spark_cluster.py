# SPDX-License-Identifier: Apache-2.0
"""A real standalone Spark cluster on this machine, a master and two workers, and commands that are run on it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import kepsilon
from material.machine import lacking, require_java

SOURCES = Path(kepsilon.__file__).parents[1]
ON_WORKERS = Path(__file__).with_name("on_workers")
PATIENCE = 180
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
"""For programs that are over before a better compiler would pay."""

SETTINGS = {
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
    "spark.sql.shuffle.partitions": "4",
}


def prepare_for_session() -> None:
    """Before a process has its own session: nothing of it listens to other machines, and it does not take long to start."""
    require_java()
    settings = " ".join(f"--conf '{name}={value}'" for name, value in SETTINGS.items())
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_SUBMIT_ARGS": f"{settings} pyspark-shell"}


def require_linux() -> None:
    """What is left behind is looked for in /proc."""
    if not Path("/proc/self/stat").exists():
        lacking("processes are looked for in /proc")


def spark_environment(**more: str) -> dict[str, str]:
    """For Spark's own processes and for commands: nothing leaves the machine, and workers find the package."""
    import pyspark

    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return {
        **kept,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": JAVA_OPTIONS,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(SOURCES),
        **more,
    }


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


def wait_until(is_so, what: str, *, seconds: float = PATIENCE) -> None:
    last = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < last, f"waited {seconds} s for: {what}"
        time.sleep(0.05)


def start(words: list[str], environment: Mapping[str, str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    """A process of Spark's in a session of its own, so that whatever it starts can be found again."""
    program = str(Path(environment["SPARK_HOME"]) / "bin" / words[0])
    return subprocess.Popen(
        [program, *words[1:]],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def kill_all(process: subprocess.Popen[Any]) -> None:
    """The process and everything that it started, as when the power fails."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            session = int(status.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[3])
            if session == process.pid:
                os.kill(int(status.parent.name), signal.SIGKILL)
    process.kill()
    process.wait()


@dataclass
class Faults:
    """Trouble that waits for the first worker that comes by; see on_workers/sitecustomize.py."""

    folder: Path

    def set(self, name: str) -> None:
        self.clear()
        (self.folder / name).touch()

    def has_happened(self, name: str) -> bool:
        return (self.folder / f"{name}.taken").exists()

    def await_one(self, name: str) -> int:
        """The session of the worker that it happened to."""
        taken = self.folder / f"{name}.taken"
        wait_until(lambda: taken.exists() and taken.read_text(encoding="utf-8"), name)
        return int(taken.read_text(encoding="utf-8"))

    def clear(self) -> None:
        for path in self.folder.iterdir():
            path.unlink()


DRIVER = """
import contextlib, io, json, signal, sys
from kepsilon.cli.main import run
from kepsilon.cli.surroundings import interrupt_on_signals

# Whoever runs the tests in the background may have asked for signals to be ignored, which a child inherits.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
interrupt_on_signals()
for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(json.loads(line))
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


class Driver:
    """A program that keeps its session and runs one command after another, because a session takes long to start."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.is_busy = False
        with (folder / "driver.log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", DRIVER],
                env=environment,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def begin(self, *words: object) -> None:
        self.is_busy = True
        print(json.dumps([str(word) for word in words]), file=self.process.stdin, flush=True)

    def end(self) -> tuple[int, str, str]:
        """Exit code, what went to stdout, and what to stderr."""
        code, out, err = json.loads(self.process.stdout.readline())
        self.is_busy = False
        return code, out, err

    def run(self, *words: object) -> tuple[int, str, str]:
        self.begin(*words)
        return self.end()

    def stop(self) -> None:
        kill_all(self.process)
        self.process.stdin.close()
        self.process.stdout.close()


@dataclass
class Cluster:
    folder: Path
    """Everything that master and workers write: logs, and what they keep while they work."""
    port: int
    web_port: int
    faults: Faults
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    logs: list[IO[bytes]] = field(default_factory=list)
    current: Driver | None = None
    local: dict[int, Path] = field(default_factory=dict)
    """By the id of a process, the disk that is only its own."""

    @property
    def master(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    def start(self) -> None:
        where = ["--host", "127.0.0.1", "--port", str(self.port), "--webui-port", str(self.web_port)]
        self._start(["spark-class", "org.apache.spark.deploy.master.Master", *where])
        for _ in range(2):
            self.add_worker()
        wait_until(lambda: self.n_workers() == 2, "two workers")

    def add_worker(self) -> None:
        """Each at an address of its own: Spark never tries a task twice at once on the same machine."""
        number = len(self.logs)
        host = f"127.0.0.{number + 1}"
        words = ["--host", host, "--cores", "1", "--memory", "1g", "--webui-port", "0"]
        words += ["--work-dir", str(self.folder / f"work-{number}"), self.master]
        self._start(["spark-class", "org.apache.spark.deploy.worker.Worker", *words], host)

    def _start(self, words: list[str], host: str = "127.0.0.1") -> None:
        number = len(self.logs)
        self.logs.append((self.folder / f"{number}.log").open("wb"))
        local = self.folder / f"local-{number}"
        environment = spark_environment(SPARK_LOCAL_IP=host, SPARK_LOCAL_DIRS=str(local))
        self.processes.append(start(words, environment, self.logs[-1]))
        self.local[self.processes[-1].pid] = local

    def n_workers(self) -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.web_port}/json/", timeout=5) as answer:
                return int(json.load(answer)["aliveworkers"])
        except (OSError, ValueError):
            return 0

    def lose_worker(self, session: int) -> None:
        """One of the two machines goes, with all that runs on it; another takes its place for whoever comes later."""
        (lost,) = [process for process in self.processes if process.pid == session]
        kill_all(lost)
        shutil.rmtree(self.local.pop(lost.pid), ignore_errors=True)
        self.processes.remove(lost)
        self.add_worker()

    def kept_for_jobs(self) -> set[Path]:
        """What Spark itself keeps of a job's records while they are moved, on machines that are there."""
        walked = [own for place in self.folder.glob("local-*") for own in os.walk(place)]
        return {Path(folder) / name for folder, _, names in walked for name in names}

    def said(self) -> str:
        """All that master, workers and drivers logged."""
        logs = [*self.folder.rglob("*.log"), *self.folder.glob("work-*/*/*/std*")]
        return "".join(log.read_text(encoding="utf-8", errors="replace") for log in logs)

    def driver(self) -> Driver:
        """The one that is there, or another if it was killed or a test failed while it was at work."""
        if self.current is not None and self.current.is_busy:
            self.current.stop()
            self.current = None
        if self.current is None:
            self.current = Driver(Path(tempfile.mkdtemp(prefix="driver-", dir=self.folder)), self.environment())
        return self.current

    def stop(self) -> None:
        if self.current is not None:
            self.current.stop()
        for process in self.processes:
            kill_all(process)
        for log in self.logs:
            log.close()

    def environment(self, settings: Mapping[str, str] | None = None) -> dict[str, str]:
        """For a command on this cluster: its workers' Python is ours, and finds trouble where some was set."""
        conf = Path(tempfile.mkdtemp(prefix="conf-", dir=self.folder))
        chosen = {**SETTINGS, **(settings or {})}
        lines = "".join(f"{name} {value}\n" for name, value in chosen.items())
        (conf / "spark-defaults.conf").write_text(lines, encoding="utf-8")
        python = conf / "python"
        script = (
            "#!/bin/sh\n"
            f'export FAULTS="{self.faults.folder}" PYTHONPATH="{ON_WORKERS}:{SOURCES}:$PYTHONPATH"\n'
            f'exec "{sys.executable}" "$@"\n'
        )
        python.write_text(script, encoding="utf-8")
        python.chmod(0o755)
        return spark_environment(
            SPARK_CONF_DIR=str(conf), PYSPARK_PYTHON=str(python), SPARK_LOCAL_DIRS=str(self.folder / "local-driver")
        )


@contextlib.contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    require_java()
    require_linux()
    (folder / "faults").mkdir()
    cluster = Cluster(folder, free_port(), free_port(), Faults(folder / "faults"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
