# SPDX-License-Identifier: Apache-2.0
"""The page "What we reproduced, and what we did not" of the documentation, made from claims.json alone."""

from __future__ import annotations

import re

from kepsilon.json_values import Json
from kepsilon.pages.render import environment
from kepsilon.pages.wording import listed, plural
from kepsilon.reproduce.pages.judged import SIGNS, JudgedClaim, Judgement, claims_of, in_short, scores


def docs_page(claims: Json) -> str:
    """Markdown: a table of marks, then what did not hold with its reasons, then what did."""
    setting: Json = claims.get("setting") or {}
    judged = claims_of(claims)
    surroundings = environment().overlay(autoescape=False, keep_trailing_newline=True)
    surroundings.filters |= {
        "text": _text,
        "in_table": lambda words: _text(words).replace("|", "\\|"),
        "sign": SIGNS.__getitem__,
        "plural": plural,
        "listed": listed,
        "by_reason": _by_reason,
    }
    return surroundings.get_template("reproduced.md").render(
        setting={"is_quick": False, **setting},
        version=claims.get("kepsilon_version"),
        runs=f", {plural(setting['runs'], 'run')} per cell" if setting.get("runs") else "",
        seed=f", seed {setting['seed']}" if setting.get("seed") is not None else "",
        claims=judged,
        scores=scores(judged),
        in_short=in_short(judged),
    )


def _by_reason(claim: JudgedClaim) -> list[tuple[str, list[Judgement]]]:
    """Where the claim failed and why; a reason that is the same on several data sets is said once."""
    found: dict[str, list[Judgement]] = {}
    for one in claim.failed:
        found.setdefault(one.why or "no reason was recorded.", []).append(one)
    return [*found.items()]


def _text(words: str) -> str:
    """The words on one line, and with nothing that Markdown or HTML would take for its own."""
    whole = " ".join(words.split())
    return re.sub(r"[\\*_`\[\]]|<(?=[a-zA-Z/!?])", r"\\\g<0>", whole)
