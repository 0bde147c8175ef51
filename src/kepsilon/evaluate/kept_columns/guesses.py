# SPDX-License-Identifier: Apache-2.0
"""What an attacker compares in every class: what records show, and what he works out for each original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.kept_columns.class_order import ClassOrder
from kepsilon.evaluate.kept_columns.findings import Attacker
from kepsilon.evaluate.kept_columns.links import nearest_links, on_grid
from kepsilon.evaluate.kept_columns.pairs import Measured
from kepsilon.evaluate.kept_columns.right_persons import nearest_persons
from kepsilon.evaluate.kept_columns.two_folds import TwoFolds
from kepsilon.evaluate.kept_columns.verdicts import Linked, with_persons
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray

FEWEST_SHOWN = 20
"""A number that fewer records have is not attacked: there is nothing to fit, and a few links may be luck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """One attacker's numbers, on the grid of links; each array has shape (n_records,)."""

    shown: IntArray
    known: IntArray
    is_shown: BoolArray
    ranking: IntArray
    """Positions of the records by rising `known`."""
    by: Attacker
    of: str | None
    """The quasi that he uses; None where he uses all."""

    def linked(self, classes: ClassOrder) -> Linked:
        """The records that he links in some classes."""
        n_shown = np.bincount(classes.ids, weights=self.is_shown[classes.records], minlength=classes.n_classes)
        chances = nearest_links(self.shown, self.known, is_shown=self.is_shown, ranking=self.ranking, classes=classes)
        return Linked(
            links=float(chances.sum()),
            largest=float(chances.max(initial=0.0)),
            by_chance=float((n_shown / classes.sizes).sum()),
            n_shown=int(n_shown.sum()),
            by=self.by,
            of=self.of,
        )

    def all_linked(self, classes: ClassOrder) -> Iterator[Linked]:
        """What he links in some classes: records, and where it is known whom these are about, persons."""
        if classes.by_person is None:
            yield self.linked(classes)
            return
        found = nearest_persons(
            self.shown,
            self.known,
            is_shown=self.is_shown,
            ranking=self.ranking,
            classes=classes,
            by_person=classes.by_person,
        )
        yield from with_persons(self.linked(classes), found)


def formula_guesses(measured: Mapping[str, Measured], folds: TwoFolds) -> dict[str, list[Guess]]:
    """Guesses by a formula of all quasis, by column: one for its number, one for its logarithm."""
    together: dict[bytes, list[tuple[str, FloatArray]]] = {}
    for name, own in measured.items():
        present = ~np.isnan(own.numbers)
        if np.count_nonzero(present) >= FEWEST_SHOWN:
            # Columns that are missing in the same records, as most are in none, share a fit.
            targets = together.setdefault(np.packbits(present).tobytes(), [])
            targets += [(name, values) for values in (own.numbers, own.logarithms) if values is not None]
    found: dict[str, list[Guess]] = {}
    for targets in together.values():
        predicted = folds.predictions(np.column_stack([values for _, values in targets]))
        for (name, values), own_predicted in zip(targets, predicted.T, strict=True):
            low, high = float(np.nanmin(values)), float(np.nanmax(values))
            known = on_grid(own_predicted, low=low, high=high)
            guess = Guess(
                shown=on_grid(np.nan_to_num(values), low=low, high=high),
                known=known,
                is_shown=~np.isnan(values),
                ranking=np.argsort(known).astype(np.int32),
                by="formula",
                of=None,
            )
            found.setdefault(name, []).append(guess)
    return found
