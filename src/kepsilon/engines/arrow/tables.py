# SPDX-License-Identifier: Apache-2.0
"""An Arrow table from NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from kepsilon.engines.arrow.numpy_arrays import from_numpy, from_texts


def table_from(columns: Mapping[str, NDArray[Any]]) -> pa.Table:
    """An Arrow table of columns of text or numbers, which have one length and no missing values."""
    arrays = [
        from_texts(column.tolist()) if column.dtype.kind == "U" else from_numpy(column) for column in columns.values()
    ]
    return pa.Table.from_arrays(arrays, names=list(columns))
