# SPDX-License-Identifier: Apache-2.0
"""The table of released records: labels, noisy values and kept columns side by side. Algorithm 1, lines 8 and 9."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.moving import LabelColumn, number_column
from kepsilon.engines.arrow.numpy_arrays import from_numpy
from kepsilon.policy.roles import ColumnRoles
from kepsilon.sources.columns import CODED_TEXT
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.classes import Recoding

Kept = Callable[[str], tuple[pa.Field, pa.Array | pa.ChunkedArray]]
"""Gives a kept column of the released records by name, copied so that nothing of other records comes along."""


def label_columns(roles: ColumnRoles, recoding: Recoding) -> dict[str, LabelColumn]:
    """The labels of all classes by k-quasi, made once for all tables of a release."""
    return {
        name: LabelColumn.of(own.labels, own.of_class)
        for name, own in zip(roles.k_quasis, recoding.attributes, strict=True)
    }


def merged_table(
    roles: ColumnRoles,
    labels: Mapping[str, LabelColumn],
    class_ids: IntArray,
    published: FloatArray,
    kept: Kept,
    *,
    integers: Collection[str],
) -> pa.Table:
    """The table of some released records, in the order of `class_ids` and `published`; `labels` as `label_columns` gives them.

    `integers` names the ε-quasis that are published as whole numbers.
    """
    fields, columns = [], []
    for name in roles.published:
        if name in labels:
            column = labels[name].of_records(class_ids)
            field = pa.field(name, column.type, metadata=CODED_TEXT)
        elif name in roles.epsilon_quasis:
            noisy = published[:, roles.epsilon_quasis.index(name)]
            column = number_column(noisy, stays_whole=name in integers)
            field = pa.field(name, column.type)
        else:
            field, column = kept(name)
        fields.append(field)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def linkage_table(original_rows: IntArray, class_ids: IntArray, *, first: int) -> pa.Table:
    """The linkage of some released records, whose rows in the release are numbered from `first`."""
    columns = {
        "original_row": original_rows.astype(np.int64),
        "released_row": np.arange(first, first + len(original_rows), dtype=np.int64),
        "class_id": class_ids.astype(np.int64),
    }
    return pa.table({name: from_numpy(values) for name, values in columns.items()})
