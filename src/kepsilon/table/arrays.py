# SPDX-License-Identifier: Apache-2.0
"""The types of arrays that the kernels take and return."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.integer]
"""Codes, counts, positions, class ids."""

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
