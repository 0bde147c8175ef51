# SPDX-License-Identifier: Apache-2.0
"""Algorithms that put the combinations of a frequency table into classes; a policy names one of them.

Each algorithm is one module with a function `find`, and has one entry in `kepsilon.policy.algorithms`.
"""

from __future__ import annotations

from kepsilon.kanonymise.algorithms.find_classes import for_every_k, k_anonymise
from kepsilon.kanonymise.algorithms.protocol import Algorithm, KAnonymised, Request

__all__ = ["Algorithm", "KAnonymised", "Request", "for_every_k", "k_anonymise"]
