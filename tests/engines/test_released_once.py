# SPDX-License-Identifier: Apache-2.0
"""What is released was fixed when noise was drawn: whatever becomes of the input afterwards changes nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather

import kepsilon as ke

POLICY = {
    "k": 5,
    "epsilon": 4,
    "algorithm": "mondrian",
    "attributes": {
        "age": {"role": "k-quasi", "step": 5},
        "height": {"role": "epsilon-quasi", "precision": 0.1, "range": [120, 220]},
        "visits": {"role": "insensitive"},
        "ward": {"role": "sensitive"},
    },
}
N = 3000


def columns():
    rng = np.random.default_rng(5)
    return {
        "age": rng.integers(20, 90, N),
        "height": rng.normal(170, 8, N).round(1),
        "visits": rng.integers(0, 1000, N),
        "ward": rng.choice(["North", "South", "West"], N),
    }


def changed_frame(folder):
    """A pandas frame whose column is written over."""
    frame = pd.DataFrame(columns())

    def overwrite():
        frame.loc[:, "visits"] = 7

    return frame, overwrite


def changed_array(folder):
    """An Arrow table over an array of NumPy's."""
    own = columns()
    table = pa.table({name: pa.array(values) for name, values in own.items()})
    return table, lambda: own["visits"].fill(7)


def changed_file(folder):
    """An Arrow file, which is mapped into memory, not read."""
    path = folder / "people.arrow"
    feather.write_feather(pa.table(columns()), path, compression="uncompressed")

    def overwrite():
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.write(b"\x07" * size)

    return path, overwrite


@pytest.mark.parametrize("make", [changed_frame, changed_array, changed_file], ids=["pandas", "arrow", "file"])
def test_a_release_is_fixed_when_it_is_made(make, tmp_path):
    """Kept values that were judged are those that are published."""
    source, change = make(tmp_path)
    expected = sorted(columns()["visits"].tolist())
    release = ke.anonymise(source, ke.Policy.from_dict(POLICY))
    change()
    assert sorted(np.asarray(release.frame["visits"]).tolist()) == expected
    release.write(tmp_path / "out.parquet")
    assert sorted(pd.read_parquet(tmp_path / "out.parquet")["visits"].tolist()) == expected
