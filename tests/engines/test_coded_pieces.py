# SPDX-License-Identifier: Apache-2.0
"""A column of dictionaries is coded piece by piece, and has the values that it has as a whole."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kepsilon.engines.arrow import coding


def pieces(rng, *, kind, n_pieces=4):
    """Pieces with dictionaries of their own: entries twice, null entries, entries that no record holds, null records."""
    words = {pa.string(): ["a", "b", "c", "d", None, "a"], pa.float64(): [1.0, -0.0, 0.0, 2.5, None, 1.0]}[kind]
    found = []
    for _ in range(n_pieces):
        entries = [words[i] for i in rng.permutation(len(words))[: rng.integers(1, len(words) + 1)]]
        n = int(rng.integers(0, 30))
        indices = pa.array(rng.integers(0, len(entries), n), pa.int8(), mask=rng.random(n) < 0.2)
        found.append(pa.DictionaryArray.from_arrays(indices, pa.array(entries, kind)))
    return pa.chunked_array(found)


@pytest.mark.parametrize("kind", [pa.string(), pa.float64()], ids=str)
@pytest.mark.parametrize("seed", range(30))
def test_pieces_are_coded_as_the_whole_is(seed, kind, monkeypatch):
    """Every record keeps its value, null is the last one, and no value is listed that no record holds."""
    column = pieces(np.random.default_rng(seed), kind=kind)
    texts = [None if value is None else "0" if value == 0 else value for value in column.to_pylist()]
    texts = [text if text is None or kind == pa.string() else f"{float(text):g}" for text in texts]
    for most in (1 << 16, 0):  # by pieces, and joined by Arrow
        monkeypatch.setattr(coding, "_SHORT", most)
        values, codes = coding.encode(column, "c", "table")
        assert [values[code] for code in codes.tolist()] == texts
        assert sorted(values, key=str) == sorted(set(texts), key=str)
        assert None not in values[:-1]
