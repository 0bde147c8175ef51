# SPDX-License-Identifier: Apache-2.0
"""The page "What we reproduced, and what we did not" of the documentation, made from claims.json alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kepsilon.json_values import Json
from kepsilon.pages.wording import listed, plural
from kepsilon.reproduce.pages.judged import SIGNS, Claim, Judgement, Score, claims_of, in_short, scores


def docs_page(claims: Json) -> str:
    """Markdown: a table of marks, then what did not hold with its reasons, then what did."""
    judged = claims_of(claims)
    counted = scores(judged)
    failed = [claim for claim in judged if claim.failed]
    held = [claim for claim in judged if not claim.failed]
    lines = [
        "# What we reproduced, and what we did not",
        "",
        *_lead(claims, counted),
        *_in_short(judged),
        "",
        *_marks(judged, counted),
    ]
    if failed:
        lines += ["", "## What did not hold"]
        for claim in failed:
            lines += ["", *_failed(claim)]
    if held:
        lines += ["", "## What held", ""]
        lines += [f"- **{claim.id}.** {_text(claim.sentence)} {_found(claim)}" for claim in held]
    return "\n".join(lines) + "\n"


def _lead(claims: Json, counted: Sequence[Score]) -> Iterator[str]:
    setting: Json = claims.get("setting") or {}
    runs = f", {plural(setting['runs'], 'run')} per cell" if setting.get("runs") else ""
    seed = f", seed {setting['seed']}" if setting.get("seed") is not None else ""
    yield (
        f"Made by `kepsilon reproduce` from the `claims.json` of a {'quick' if setting.get('is_quick') else 'full'} run "
        f"(kepsilon {claims.get('kepsilon_version')}{runs}{seed}); do not edit it."
    )
    yield "The paper is Holohan, Antonatos, Braghin, Mac Aonghusa, *(k,ε)-Anonymity: k-Anonymity with ε-Differential Privacy*."
    yield ""
    yield (
        "Florida and Michigan are **stand-ins**: the paper's voter lists name real people and were not used "
        "([data sets](data-sets.md))."
    )
    yield "What holds or fails on a stand-in says how the method behaves on such data, not what the paper's samples would show."
    yield ""
    for one in counted:
        where = f"on {one.title}" if one.data_set else "of those about all data sets together"
        yield f"- {one.n_held} of {plural(one.n_judged, 'claim')} held {where}."


def _in_short(judged: Sequence[Claim]) -> Iterator[str]:
    for name, found in in_short(judged):
        yield f"- {name}: {', '.join(str(claim.id) for claim in found)}."


def _marks(judged: Sequence[Claim], counted: Sequence[Score]) -> Iterator[str]:
    yield "| claim | " + " | ".join(one.title for one in counted) + " |"
    yield "|---|" + ":-:|" * len(counted)
    for claim in judged:
        cells = [SIGNS[claim.held_on(one.data_set)] if claim.on(one.data_set) else "" for one in counted]
        yield f"| {claim.id}. {_cell(claim.sentence)} | {' | '.join(cells)} |"
    yield ""
    yield "✓ held, ✗ not held, – not judged; empty where the claim does not speak of the data set."


def _failed(claim: Claim) -> Iterator[str]:
    yield f"### {claim.id}. {_text(claim.sentence)}"
    yield ""
    yield f"Paper, {claim.where}." + (f" Bound: {_text(claim.bound)}" if claim.bound else "")
    yield ""
    for one in claim.judgements:
        if one.held is not None:
            bound = "" if claim.bound else f" (bound: {_text(one.bound)})"
            yield f"- {SIGNS[one.held]} **{one.title}**: {_text(one.measured)}{bound}"
            yield from (f"  - {SIGNS[part.held]} {_text(part.words)}" for part in one.parts)
    for why, alike in _by_reason(claim.failed):
        titles = listed([one.title for one in alike])
        yield ""
        yield f"Why not on {titles}: {_text(why)}" if alike[0].data_set else f"Why not: {_text(why)}"
        for one in alike:
            yield from _experiment(one, named=len(claim.failed) > 1)


def _by_reason(failed: Sequence[Judgement]) -> list[tuple[str, list[Judgement]]]:
    """A reason that is the same on several data sets is said once."""
    found: dict[str, list[Judgement]] = {}
    for one in failed:
        found.setdefault(one.why or "no reason was recorded.", []).append(one)
    return [*found.items()]


def _experiment(one: Judgement, *, named: bool) -> Iterator[str]:
    """A table where it was tried for several k, folded: the reason stands without it."""
    if not one.experiment:
        return
    yield ""
    yield f"<details><summary>The experiment{f', {one.title}' if named else ''}</summary>"
    if one.experiment.lines:
        yield ""
        yield from (f"- {_text(finding)}" for finding in one.experiment.lines)
    table = one.experiment.table
    if table is not None:
        yield ""
        yield "| " + " | ".join(_cell(words) for words in table.headers) + " |"
        yield "|" + "--:|" * len(table.headers)
        yield from ("| " + " | ".join(_cell(words) for words in row) + " |" for row in table.rows)
    yield ""
    yield "</details>"


def _found(claim: Claim) -> str:
    return " ".join(f"{_measured(one)}." for one in claim.judgements if one.held is not None)


def _measured(one: Judgement) -> str:
    return f"{one.title}: {_text(one.measured).removesuffix('.')}"


def _text(words: str) -> str:
    """On one line, and with nothing that Markdown or HTML would take for its own."""
    whole = " ".join(words.split())
    return re.sub(r"[\\*_`\[\]]|<(?=[a-zA-Z/!?])", r"\\\g<0>", whole)


def _cell(words: str) -> str:
    return _text(words).replace("|", "\\|")
