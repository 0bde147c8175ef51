# SPDX-License-Identifier: Apache-2.0
"""From a frequency table to classes, by the algorithm that a policy names.

Each algorithm is one file with a `find`; its line in the table of algorithms stands in `kepsilon.policy.algorithms`.
"""

from __future__ import annotations

from kepsilon.kanonymise.algorithms.find_classes import for_every_k, k_anonymise
from kepsilon.kanonymise.algorithms.protocol import Algorithm, KAnonymised, Request

__all__ = ["Algorithm", "KAnonymised", "Request", "for_every_k", "k_anonymise"]
