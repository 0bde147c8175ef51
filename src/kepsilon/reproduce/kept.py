# SPDX-License-Identifier: Apache-2.0
"""The folder of a reproduction: measurements are kept one by one, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kepsilon.errors import EngineError, Problem
from kepsilon.reproduce.setting import Json
from kepsilon.version import __version__

RUN, CLAIMS, PAGE, FIGURES, MEASUREMENTS = "run.json", "claims.json", "index.html", "figures", "measurements"
OURS = (RUN, CLAIMS, PAGE, FIGURES, MEASUREMENTS)
LIBRARIES = ("numpy", "pyarrow", "duckdb")


class Kept:
    """What one run measures, and where it is kept."""

    def __init__(self, folder: Path, about: Mapping[str, Any], *, overwrite: bool) -> None:
        """`about` is what the measurements depend on; a folder with another one is not touched."""
        if folder.exists() and not folder.is_dir():
            raise EngineError(Problem(where=str(folder), what="is a file; the output is a folder."))
        self.folder = folder
        self._about = json.loads(json.dumps(about))
        before = _about(folder)
        if before != self._about:
            if not overwrite:
                _refuse_other(folder, before)
            for name in OURS:
                _remove(folder / name)
        (folder / MEASUREMENTS).mkdir(parents=True, exist_ok=True)
        _write(folder / RUN, {"about": self._about})

    def __contains__(self, name: str) -> bool:
        return self._path(name).exists()

    def __getitem__(self, name: str) -> Json:
        found: Json = json.loads(self._path(name).read_text(encoding="utf-8"))
        return found

    def keep(self, name: str, measured: Json) -> None:
        _write(self._path(name), measured)

    def finish(self, claims: Json, *, seconds: Mapping[str, float]) -> Json:
        """Writes the verdicts and the log, and gives the log."""
        log = {"about": self._about, "versions": versions(), "seconds": dict(seconds)}
        _write(self.folder / CLAIMS, claims)
        _write(self.folder / RUN, log)
        return log

    def _path(self, name: str) -> Path:
        return self.folder / MEASUREMENTS / f"{name}.json"


def versions() -> Json:
    return {
        "kepsilon": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
        "system": f"{platform.system()} {platform.machine()}",
    }


def digest_of_code() -> str:
    """Of all modules of this package: measurements of one code are not mixed with those of another."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
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


def _refuse_other(folder: Path, before: Any) -> None:
    if before is None and not any((folder / name).exists() for name in OURS):
        return
    raise EngineError(
        Problem(
            where=str(folder),
            what="holds another reproduction, of other settings, data or code.",
            fix="Choose another folder with -o, or replace it with --overwrite.",
        )
    )


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write(path: Path, content: Json) -> None:
    """Whole or not at all: what is cut off while writing has another name."""
    partial = path.with_name(f"{path.name}.part")
    partial.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(path)
