# SPDX-License-Identifier: Apache-2.0
"""The lines of `check` and `anonymise` that say what generalising loses."""

from __future__ import annotations

from collections.abc import Iterator

import kepsilon


def losses_in_words(found: kepsilon.Prediction | kepsilon.Record) -> Iterator[tuple[str, str]]:
    """A name and a text for each measure; none where nothing is generalised.

    The paper's measure is shown where it differs: level over height, of an algorithm that has levels.
    """
    loss = found.loss
    measures = [("loss (ncp)", loss.ncp), ("loss (entropy share)", loss.entropy_share)]
    if found.levels is not None:
        measures.append(("precision loss", loss.precision))
    for name, measure in measures:
        if measure.by_attribute:
            shown = ", ".join(f"{attribute} {own:.2f}" for attribute, own in measure.by_attribute.items())
            yield name, f"{measure.overall:.3f}  ({shown})"
