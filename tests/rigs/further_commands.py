# SPDX-License-Identifier: Apache-2.0
"""The commands beside `anonymise`: `init`, `check --show-values`, `explore`, `manifest` and `audit`, and what each must keep."""

from __future__ import annotations

import csv
import io
import itertools
import json
import stat
import tomllib
from collections import Counter
from pathlib import Path

import kepsilon
from rigs.commands import Outcome
from rigs.invariants import has_markup
from rigs.tokens import tokens_in
from rigs.trials import Trial, beside, run, search

SHOWN_BY_MANY = 20
"""`init` copies a value into its proposal only if so many records hold it."""


def try_init(trial: Trial, source: Path) -> None:
    outcome = run(trial, "init", source)
    counts = Counter(name for column in trial.case.columns for value in column.values for name in tokens_in(str(value)))
    if any(counts[name] < SHOWN_BY_MANY for name in tokens_in(outcome.out)) or tokens_in(outcome.err):
        trial.fail("value: init shows a value that few records hold")


def try_show_values(trial: Trial, source: Path, policy: Path) -> None:
    """The values of one column may be printed, which is any column of the table; nothing of the others, and nothing else."""
    column = trial.case.rng("show values").choice(trial.case.columns)
    run(trial, "check", source, "-p", policy, f"--show-values={column.name}", shows=column)


LIMITS = ("--max-risk", "1")
"""All cells that are not refused are within it, so that one is chosen."""
WAYS_TO_EXPLORE: tuple[tuple[str, ...], ...] = (
    (),
    ("--json",),
    ("--max-risk", "0.5"),
    ("-o", "grid.html"),
    ("-o", "grid.csv"),
    ("-o", "grid.json"),
    (*LIMITS, "--write-policy", "chosen.toml"),
    (*LIMITS, "--write-policy", "chosen.toml", "--json"),
    (*LIMITS, "--write-policy", "chosen.toml", "-o", "grid.html"),
)
KS, EPSILONS = (2, 3), (1, 4)


def try_explore(trial: Trial, source: Path, policy: Path) -> None:
    """The grid that is written is whole and for its owner; the policy that is written loads, and can be met."""
    rng = trial.case.rng("explore")
    way = rng.choice(WAYS_TO_EXPLORE)
    written = [word for word in way if "." in word and word[0].isalpha()]
    words = [trial.path / word if word in written else word for word in way]
    cells = ["--k", ",".join(map(str, KS)), "--epsilon", ",".join(map(str, EPSILONS))]
    outcome = run(trial, "explore", source, "-p", policy, *cells, *words, may_write=written)
    grid, chosen = (
        next((trial.path / own for own in written if own.startswith(name)), None) for name in ("grid", "chosen")
    )
    if grid is not None:
        _look_at_grid(trial, outcome, grid)
    if chosen is not None:
        _look_at_policy(trial, outcome, source, policy, chosen)


WAYS_TO_SPLIT: tuple[tuple[str, ...], ...] = (
    (),
    ("--json",),
    ("-o", "grid.html"),
    (*LIMITS, "--write-policy", "chosen.toml"),
)


def try_splits(trial: Trial, source: Path, policy: Path) -> None:
    """Every split is shown or refused with its reason; the policy that is written loads, and can be met."""
    way = trial.case.rng("splits").choice(WAYS_TO_SPLIT)
    written = [word for word in way if "." in word and word[0].isalpha()]
    words = [trial.path / word if word in written else word for word in way]
    outcome = run(trial, "explore", source, "-p", policy, "--split", *words, may_write=written)
    page, chosen = trial.path / "grid.html", trial.path / "chosen.toml"
    if page.exists() and has_markup(page.read_text(encoding="utf-8", errors="replace")):
        trial.fail("explore --split: the name of a column became a part of the page")
    if chosen.exists():
        if outcome.code != 0:
            trial.fail("explore --split: it is refused, and a policy is there")
        if run(trial, "check", source, "-p", chosen).code != 0:
            trial.fail("explore --split: the policy that it writes does not load, or cannot be met")
    for path in (page, chosen):
        path.unlink(missing_ok=True)


def _look_at_grid(trial: Trial, outcome: Outcome, grid: Path) -> None:
    """There is one unless the data or the policy is wrong; where only no cell is within the limits, there is one too.

    Identifiers that repeat, though nothing says whom records are about, are refused before there is any cell.
    """
    is_refused = outcome.code == 2 or (outcome.code == 3 and "some persons have several records" in outcome.err)
    if grid.exists() is is_refused:
        trial.fail(f"explore: exit code {outcome.code}, and the grid is {'there' if grid.exists() else 'not there'}")
    if not grid.exists():
        return
    if stat.S_IMODE(grid.stat().st_mode) != 0o600:
        trial.fail("explore: the grid, which is for its owner only, can be read by others")
    text = grid.read_text(encoding="utf-8", errors="replace")
    search(trial, text, "a grid", wrong="")
    if grid.suffix == ".html":
        if not text.lstrip().lower().startswith("<!doctype html") or not text.rstrip().endswith("</html>"):
            trial.fail("explore: the page is not whole")
        if has_markup(text):
            trial.fail("explore: the name of a column became a part of the page")
        return
    try:
        is_json = grid.suffix == ".json"
        cells = json.loads(text)["cells"] if is_json else list(csv.DictReader(io.StringIO(text), strict=True))
    except (ValueError, csv.Error):
        trial.fail("explore: the grid cannot be read")
        return
    algorithms = kepsilon.json_schema()["properties"]["algorithm"]["enum"]
    n_epsilons = len(EPSILONS) if trial.case.of_role("epsilon-quasi") else 1
    found = {(cell["algorithm"], int(cell["k"])) for cell in cells}
    # With averages there are cells with noise alone beside them, where a range is stated, and averages need k of 3 or more.
    is_all = "averages" in trial.case.document or len(cells) == len(algorithms) * len(KS) * n_epsilons
    if found != set(itertools.product(algorithms, KS)) or not is_all:
        trial.fail("explore: the grid does not have all cells")
    if any(int(cell["k"]) not in KS for cell in cells):
        trial.fail("explore: the grid has another k than those that were asked for")


def _look_at_policy(trial: Trial, outcome: Outcome, source: Path, policy: Path, chosen: Path) -> None:
    """The policy that was chosen is the curator's own but for k, ε, the algorithm and perhaps averages, and can be met."""
    if chosen.exists() is not (outcome.code == 0):
        trial.fail(
            f"explore: exit code {outcome.code}, and the policy is {'there' if chosen.exists() else 'not there'}"
        )
    if not chosen.exists():
        return
    own, new = (tomllib.loads(path.read_text(encoding="utf-8")) for path in (policy, chosen))
    differing = {key for key in own.keys() | new.keys() if own.get(key) != new.get(key)}
    is_noise_alone = "averages" in own and "averages" not in new  # a cell of its own beside those with averages
    may_differ = {"k", "epsilon", "algorithm"} | ({"averages"} if is_noise_alone else set())
    if differing - may_differ - ({"max_suppression"} if "max_suppression" not in own else set()):
        trial.fail("explore: the policy that it writes differs in more than k, ε and the algorithm")
    has_noise = trial.case.of_role("epsilon-quasi") and ("averages" not in new or new["averages"].get("noise"))
    if new["k"] not in KS or (new.get("epsilon") not in EPSILONS and has_noise):
        trial.fail("explore: the policy that it writes is none of its cells")
    if run(trial, "check", source, "-p", chosen).code != 0:
        trial.fail("explore: the policy that it writes does not load, or cannot be met")
    chosen.unlink()


def try_manifest(trial: Trial, policy: Path) -> None:
    """The manifest can be worked out from policy and release alone; what says when and how it was made is left out."""
    outcome = run(trial, "manifest", trial.output, "-p", policy)
    if outcome.code:
        trial.fail("manifest: it cannot be worked out from the release")
        return
    there, again = (json.loads(text) for text in (beside(trial, "manifest"), outcome.out))
    differing = sorted(key for key in there.keys() | again.keys() if there.get(key) != again.get(key))
    if wrong := [key for key in differing if key not in ("created", "kepsilon_version", "seeded")]:
        trial.fail(f"manifest: worked out again it differs in {', '.join(wrong)}")


def try_audits(trial: Trial, source: Path, policy: Path) -> None:
    linkage = ["--linkage", trial.path / "linkage.parquet"] if trial.case.with_linkage else []
    for name, more in (("audit", linkage), ("audit without linkage", [])):
        if name in trial.case.also:
            outcome = run(trial, "audit", source, trial.output, "-p", policy, "--json", *more)
            if outcome.code == 2:
                trial.fail("audit: it cannot read what was just released")
            elif outcome.code == 3:
                checks = {f["check"] for f in json.loads(outcome.out)["findings"] if f["severity"] == "broken"}
                trial.fail(*(f"accused: {check}" for check in sorted(checks)))
