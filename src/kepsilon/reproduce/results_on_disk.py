# SPDX-License-Identifier: Apache-2.0
"""The folder of a reproduction: measurements are stored one by one, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import secrets
import shutil
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from kepsilon import EngineError, Problem, __version__
from kepsilon.files.private_folders import lock, worded
from kepsilon.json_values import Json

RUN, CLAIMS, PAGE, FIGURES, MEASUREMENTS = "run.json", "claims.json", "index.html", "figures", "measurements"
OURS = (RUN, CLAIMS, PAGE, FIGURES, MEASUREMENTS)
LIBRARIES = ("numpy", "pyarrow", "duckdb")
NOT_MEASURING = ("cli/", "pages/", "publish/", "reproduce/claims/", "reproduce/pages/")
"""Code that makes words and pictures, which are made anew from what was measured."""


class ResultsFolder:
    """The folder that one run writes to, with a file for everything it measured."""

    def __init__(self, folder: Path, about: Mapping[str, Any], *, overwrite: bool) -> None:
        """Takes the folder for measurements that depend on `about`; one that holds those of another `about` is not touched."""
        if folder.exists() and not folder.is_dir():
            raise _refusal(folder, "is a file; the output is a folder.")
        self.folder = folder
        self._about = json.loads(json.dumps(about))
        before = _about(folder)
        if before is None:
            _refuse_foreign(folder)
        elif overwrite:
            for name in OURS:
                _remove(folder / name)
        elif before != self._about and any((folder / MEASUREMENTS).glob("*.json")):
            raise _refusal(
                folder,
                f"holds another reproduction: of {_what_differs(before, self._about)}.",
                "Choose another folder with -o, or replace it with --overwrite.",
            )
        with worded(folder):
            (folder / MEASUREMENTS).mkdir(parents=True, exist_ok=True)
            self._lock = _lock(folder)
            _write(folder / RUN, {"about": self._about})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            os.close(self._lock)

    def __contains__(self, name: str) -> bool:
        return self.find(name) is not None

    def __getitem__(self, name: str) -> Json:
        found = self.find(name)
        if found is None:
            raise KeyError(name)
        return found

    def find(self, name: str) -> Json | None:
        """A measurement; None where there is none, or not a whole one."""
        try:
            return json.loads(self._path(name).read_text(encoding="utf-8"))  # type: ignore[no-any-return]
        except (FileNotFoundError, ValueError):
            return None

    def store(self, name: str, measured: Json) -> None:
        with worded(self._path(name)):
            _write(self._path(name), measured)

    def finish(self, claims: Json, *, facts: Json, seconds: Mapping[str, float]) -> Json:
        """Writes the verdicts and the log, and returns the log. No measurement depends on `facts` about the run."""
        log = {"about": self._about, **facts, "seconds": dict(seconds)}
        _write(self.folder / CLAIMS, claims)
        _write(self.folder / RUN, log)
        return log

    def _path(self, name: str) -> Path:
        return self.folder / MEASUREMENTS / f"{name}.json"


def versions() -> Json:
    """The versions of everything that measurements may depend on."""
    return {
        "kepsilon": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
        "system": f"{platform.system()} {platform.machine()}",
    }


def digest_of_code() -> str:
    """A digest of all modules that measure, so that what one code measured is not mixed with what another did."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if not name.startswith(NOT_MEASURING):
            digest.update(name.encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _about(folder: Path) -> Any:
    """What the folder's measurements depend on; None if it holds none."""
    try:
        return json.loads((folder / RUN).read_text(encoding="utf-8"))["about"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return {}


def _refuse_foreign(folder: Path) -> None:
    """Refuses a folder that holds files of our names which no reproduction wrote, whatever the options."""
    for path in (folder / name for name in OURS):
        if path.exists():
            raise _refusal(path, "exists already, and is not of a reproduction.", "Choose another folder with -o.")


def _refusal(path: Path, what: str, fix: str = "") -> EngineError:
    return EngineError(Problem(where=str(path), what=what, fix=fix))


def _what_differs(before: Any, now: Mapping[str, Any]) -> str:
    names = {
        "setting": "other settings",
        "data_sets": "other data sets",
        "adult": "another Adult",
        "code": "other code",
    }
    known = before if isinstance(before, dict) else {}
    return ", ".join(names.get(key, "other versions") for key in now if known.get(key) != now[key])


def _lock(folder: Path) -> int | None:
    """Locks the folder for one run at a time: two would time each other's work."""
    try:
        return lock(folder / MEASUREMENTS)
    except BlockingIOError:
        fix = "Wait for it, or choose another folder with -o."
        raise _refusal(folder, "another run is writing there.", fix) from None


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write(path: Path, content: Json) -> None:
    """Writes the file whole or not at all: what is cut off while writing has another name."""
    partial = path.with_name(f".kepsilon-part-{secrets.token_hex(8)}")  # a name that nobody else has
    try:
        with partial.open("x", encoding="utf-8") as file:
            file.write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
