# SPDX-License-Identifier: Apache-2.0
"""The array types the kernels speak."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.integer]
"""Codes, counts, positions, class ids."""

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
