# SPDX-License-Identifier: Apache-2.0
"""Whole records, put together from the parts that an engine read them in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from kepsilon.engines.arrow.whole_columns import whole_columns
from kepsilon.engines.on_disk.buckets import Records
from kepsilon.table.whole_records import WholeRecords, in_canonical_order


def whole_records(parts: Sequence[Records], *, kept: Sequence[str], identifiers: Sequence[str]) -> WholeRecords:
    """All records of some parts, whose class ids are rows of the frequency table; identifiers are among kept columns."""
    rows = [own.rows for own in parts if own.rows is not None]
    columns = pa.concat_tables([own.kept for own in parts])
    return in_canonical_order(
        WholeRecords(
            combinations=np.concatenate([own.class_ids for own in parts]),
            values=np.concatenate([own.values for own in parts]),
            kept=whole_columns(columns.select(list(kept))),
            identifiers=whole_columns(columns.select(list(identifiers))),
            rows=np.concatenate(rows) if len(rows) == len(parts) else None,
        )
    )
