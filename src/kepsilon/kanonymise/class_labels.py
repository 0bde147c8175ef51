# SPDX-License-Identifier: Apache-2.0
"""The labels that local algorithms publish for the parts of a table, by attribute; parts become classes.

A label is a function of the attribute's domain and of the partition, not of the algorithm that found the partition.

- *Numbers* with a public step are intervals whose bounds are multiples of the step (`interval_labels`).
- *Categories* with a hierarchy are a node of it, or a set of siblings (`category_labels`).
- *Values without a hierarchy* are a value, a set of values, or everything (`category_labels`).

`siblings` labels say what occurs in a part; `ancestor` labels name the region of hierarchy or number line that holds it.
"""

from __future__ import annotations

from kepsilon.kanonymise.category_labels import node_labels, set_labels
from kepsilon.kanonymise.interval_labels import interval_labels
from kepsilon.kanonymise.table_parts import LabelStyle, TableParts
from kepsilon.table.classes import AttributeLabels
from kepsilon.table.codes import Domain


def label_parts(domain: Domain, parts: TableParts, *, style: LabelStyle) -> AttributeLabels:
    """Label and loss of every part of the table in one attribute."""
    if domain.line is not None:
        return interval_labels(domain.line, parts, style=style)
    if domain.generalises:
        return node_labels(domain, parts, style=style)
    return set_labels(domain, parts, style=style)
