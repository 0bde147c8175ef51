# SPDX-License-Identifier: Apache-2.0
"""Hierarchies, one kind per module: the levels of an attribute, of which a coarser one only merges values."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kepsilon.policy.hierarchies.dates import DatesHierarchy
from kepsilon.policy.hierarchies.file import FileHierarchy
from kepsilon.policy.hierarchies.groups import GroupsHierarchy
from kepsilon.policy.hierarchies.intervals import IntervalsHierarchy
from kepsilon.policy.hierarchies.levels import Levels
from kepsilon.policy.hierarchies.mask import MaskHierarchy
from kepsilon.policy.hierarchies.suppress import SuppressHierarchy

Hierarchy = Annotated[
    MaskHierarchy | IntervalsHierarchy | GroupsHierarchy | SuppressHierarchy | DatesHierarchy | FileHierarchy,
    Field(discriminator="type"),
]

__all__ = [
    "DatesHierarchy",
    "FileHierarchy",
    "GroupsHierarchy",
    "Hierarchy",
    "IntervalsHierarchy",
    "Levels",
    "MaskHierarchy",
    "SuppressHierarchy",
]
