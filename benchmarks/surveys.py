# SPDX-License-Identifier: Apache-2.0
"""A made-up survey: many categorical questions whose answers depend on a few opinions; nobody in it exists."""

from __future__ import annotations

import numpy as np

from kepsilon.table.codes import code_domain
from kepsilon.table.frequency import FrequencyTable, count_combinations


def survey(n_records: int, *, n_questions: int = 30, seed: int = 3) -> FrequencyTable:
    """Questions with 2 to 8 answers each, every second one with a hierarchy, counted."""
    rng = np.random.default_rng(seed)
    opinions = rng.normal(size=(n_records, 3))
    domains, columns = [], []
    for question in range(n_questions):
        n_answers = int(rng.integers(2, 9))
        leaning = opinions @ rng.normal(size=3) + rng.normal(size=n_records)
        cuts = np.quantile(leaning, np.sort(rng.uniform(0.05, 0.95, n_answers - 1)))
        occurring, given = np.unique(np.searchsorted(cuts, leaning), return_inverse=True)
        answers = [f"answer {i}" for i in occurring.tolist()]
        levels = [answers, ["*"] * len(answers)] if question % 2 else [answers]
        domain, codes = code_domain(f"question {question}", levels, generalises=bool(question % 2))
        domains.append(domain)
        columns.append(codes[given])
    return count_combinations(columns, domains, n_records=n_records)[0]
