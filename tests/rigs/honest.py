# SPDX-License-Identifier: Apache-2.0
"""The second rig: honest releases of random tables under random policies are audited, and none is accused.

`make honest` tries 2,000 releases; `python -m rigs.honest --case SEED` tries one again.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kepsilon
from rigs import tables
from rigs.cases import Case, draw_case
from rigs.commands import HangsError, limited_time, repeatable_noise
from rigs.running import Tried, run_rig
from rigs.settings import settings_of


def try_case(seed: int) -> Tried:
    """Releases the case of a seed, and audits the release with its linkage and without.

    Files are audited as they were written, frames as they were given back. A case that is refused is not a release, and
    is counted apart.
    """
    case = draw_case(seed, only_releasable=True)
    failures: list[str] = []
    ended = "refused"
    with _folder() as folder:
        try:
            with limited_time(), repeatable_noise(seed):
                release = _released(case, folder)
                if release is not None:
                    ended = "released"
                    failures += _accusations(*release)
        except HangsError:
            failures.append("hangs: a release and its audits take too long")
        except Exception as error:
            failures.append(
                f"bug: {type(error).__name__}: only its type is shown, because its text might hold a record"
            )
    return Tried(
        seed=seed,
        ended=ended,
        kinds=(f"input: {case.kind}", f"output: {case.output or 'folder'}"),
        settings=settings_of(case.document),
        failures=tuple(dict.fromkeys(failures)),
    )


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="kepsilon-rig-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _released(case: Case, folder: Path) -> tuple[Any, Any, Any, kepsilon.Policy] | None:
    """Original, release, linkage and policy as an auditor gets them; None where the case is refused."""
    for name, content in case.hierarchy_files.items():
        (folder / name).write_text(content, encoding="utf-8")
    if case.is_frame:
        original = tables.as_frame(case.columns, case.kind)
    else:
        original = tables.write(case.columns, folder, case.kind, case.dialect, case.rng("files"))
    try:
        policy = kepsilon.Policy.from_dict(case.document, folder=folder)
        release = kepsilon.anonymise(original, policy, unsafe_seed=case.unsafe_seed)
        if case.is_frame:
            return original, release.frame, release.linkage, policy
        output, linkage = folder / f"out{case.output}", folder / "linkage.parquet"
        release.write(output, linkage=linkage)
    except kepsilon.AnonymisationError:
        return None
    return original, output, linkage, policy


def _accusations(original: Any, released: Any, linkage: Any, policy: kepsilon.Policy) -> Iterator[str]:
    for known, words in ((linkage, "with its linkage"), (None, "without linkage")):
        try:
            found = kepsilon.audit(original, released, policy, linkage=known)
        except kepsilon.AnonymisationError as error:
            yield f"not audited {words}: {type(error).__name__}"
            continue
        yield from (f"accused {words}: {finding.check}" for finding in found.broken)


if __name__ == "__main__":
    run_rig("honest", try_case, until="number")
