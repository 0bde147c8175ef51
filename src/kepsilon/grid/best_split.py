# SPDX-License-Identifier: Apache-2.0
"""Says in words which split of the numeric quasis is better than that of the curator's policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kepsilon.grid.cells import Cell
from kepsilon.grid.choice import is_ranked
from kepsilon.rounding import percent

WHO_LINKS = "Linked: by the strongest attacker of each split who needs to know nothing but the quasis."
"""Whose links the figures of splits are."""


def answer(cells: Sequence[Cell]) -> list[str]:
    """Sentences that say whether another split links fewer records without more distortion than the policy's own one.

    Cells are compared by distortion, linking risk and suppression, as on the front of any grid.
    """
    ranked = [cell for cell in cells if _figures(cell) is not None]
    own = next((cell for cell in cells if cell.split is not None and cell.split.is_own), None)
    if not ranked:
        return ["No split can be met without a useless attribute, so there is nothing to compare."]
    if own is None or own not in ranked:
        return ["Your policy's own split cannot be compared with others.", *_ends(ranked, None), WHO_LINKS]
    best = min((cell for cell in ranked if _beats(cell, own)), key=_by_distortion, default=own)
    if best is own:
        first = (
            "Your policy's own split is on the front: no other split links fewer records without more distortion or more "
            f"records left out ({_in_words(own)})."
        )
    else:
        first = (
            f"Better than your policy's own split: {best.name} ({_in_words(best)}, instead of {_in_words(own)}; no more records "
            "are left out)."
        )
    return [first, *_ends(ranked, best), WHO_LINKS]


def _ends(ranked: Sequence[Cell], said: Cell | None) -> Iterator[str]:
    """The least distorted split and that with the fewest links, where they are not the one that was spoken of already."""
    least, safest = min(ranked, key=_by_distortion), min(ranked, key=_by_risk)
    if least is safest and least is not said:
        yield f"Least distorted, and fewest linked: {least.name} ({_in_words(least)})."
        return
    found = {"Least distorted": least, "Fewest linked": safest}
    sentences = [f"{what}: {cell.name} ({_in_words(cell)})." for what, cell in found.items() if cell is not said]
    if sentences:
        yield " ".join(sentences)


def _figures(cell: Cell) -> tuple[float, float, float] | None:
    """Distortion, linking risk and suppression; None for a cell that cannot be ranked, as it leaves an attribute useless."""
    found = cell.prediction
    if found is None or found.distortion is None or not is_ranked(cell):
        return None
    return found.distortion, found.linking_risk.headline.risk.total, found.suppression.total


def _beats(cell: Cell, other: Cell) -> bool:
    """Whether a cell is at least as good as another in all figures, and better in one."""
    one, two = _figures(cell), _figures(other)
    return one is not None and two is not None and one != two and all(a <= b for a, b in zip(one, two, strict=True))


def _by_distortion(cell: Cell) -> tuple[float, ...]:
    return _figures(cell) or ()


def _by_risk(cell: Cell) -> tuple[float, ...]:
    distortion, risk, suppression = _figures(cell) or (0.0, 0.0, 0.0)
    return risk, distortion, suppression


def _in_words(cell: Cell) -> str:
    distortion, risk, _ = _figures(cell) or (0.0, 0.0, 0.0)
    return f"distortion {distortion:.3f}, {percent(risk)} linked"
