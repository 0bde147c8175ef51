# SPDX-License-Identifier: Apache-2.0
"""Local recoding of numbers that have a hierarchy of intervals and no step: what the search counts is what is published."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kepsilon.kanonymise.algorithms import local_recoding, mondrian
from kepsilon.kanonymise.candidate_cuts import Guide, candidates_of, pairs_of
from kepsilon.kanonymise.local_attributes import local_attributes
from kepsilon.kanonymise.partitions import partition_of, recode
from strategies import Attribute, Sample

STYLES = st.sampled_from(["siblings", "ancestor"])


def interval_sample(numbers, widths, *others):
    """Numbers (None for null) in intervals of these widths, and other attributes with a single level above them."""
    labels = {
        None if n is None else str(n): [
            None if n is None else str(n),
            *(None if n is None else f"[{n // w * w}, {n // w * w + w})" for w in widths),
            "*",
        ]
        for n in numbers
    }
    attributes = [Attribute(name="n", labels=labels)]
    attributes += [
        Attribute(name=f"c{i}", labels={v: [v, "*"] for v in dict.fromkeys(o)}) for i, o in enumerate(others)
    ]
    records = list(zip([None if n is None else str(n) for n in numbers], *others, strict=True))
    sample = Sample(attributes=attributes, records=records)
    first, *rest = sample.table.domains
    of_intervals = np.array([np.nan if v is None else float(v) for v in first.levels[0]])
    domains = (replace(first, of_intervals=of_intervals), *rest)
    object.__setattr__(sample, "table", replace(sample.table, domains=domains))
    return sample


def published(recoding, importance=None):
    """ncp of the published labels, summed over records and weighted."""
    weights = importance or [1.0] * len(recoding.attributes)
    own = zip(weights, recoding.attributes, strict=True)
    return sum(weight * float(np.dot(attribute.ncp, recoding.sizes)) for weight, attribute in own)


def by_mondrian(table, *, k, labels, importance=None):
    return recode(table, mondrian.partition(table, k=k, importance=importance), labels=labels)


@st.composite
def interval_samples(draw):
    n = draw(st.integers(2, 30))
    number = st.one_of(st.none(), st.integers(-20, 60), st.integers(0, 2000))
    numbers = draw(st.lists(number, min_size=n, max_size=n))
    widths = draw(st.sampled_from([(10,), (10, 100, 1000), (2, 20)]))
    others = [draw(st.lists(st.sampled_from("xyz"), min_size=n, max_size=n))] if draw(st.booleans()) else []
    return interval_sample(numbers, widths, *others)


def test_far_numbers_lose_no_more_than_by_mondrian():
    """A search that counts values instead of distances cuts 1001 from 1500 too late."""
    table = interval_sample([0, 0, 3, 4, 51, 90, 90, 90, 1001, 1500], [10, 100, 1000]).table
    for labels in ("siblings", "ancestor"):
        own = published(local_recoding.anonymise(table, k=2, labels=labels))
        assert own <= published(by_mondrian(table, k=2, labels=labels)) + 1e-9


@given(sample=interval_samples(), k=st.integers(1, 5), labels=STYLES, weight=st.sampled_from([0.01, 1.0, 5.0]))
def test_no_more_is_published_as_lost_than_by_mondrian(sample, k, labels, weight):
    assume(sample.n_records >= k)
    importance = [weight, 1.0][: len(sample.attributes)]
    own = local_recoding.anonymise(sample.table, k=k, labels=labels, importance=importance)
    other = by_mondrian(sample.table, k=k, labels=labels, importance=importance)
    assert published(own, importance) <= published(other, importance) + 1e-6


@given(sample=interval_samples(), k=st.integers(1, 5), labels=STYLES)
def test_the_search_counts_what_is_published(sample, k, labels):
    """Otherwise the partition that it takes for the best would not be the one whose labels lose least."""
    assume(sample.n_records >= k)
    table = sample.table
    recoding = local_recoding.anonymise(table, k=k, labels=labels)
    attributes = local_attributes(table, k=k, style=labels, importance=[1.0] * len(table.domains))
    assert local_recoding.loss_of(attributes, table.counts, recoding.class_of) == pytest.approx(published(recoding))


@given(sample=interval_samples(), k=st.integers(1, 5), labels=STYLES)
def test_every_cut_gains_what_the_published_labels_lose_less(sample, k, labels):
    """Thresholds and single children, each against the labels of its two sides."""
    table = sample.table
    assume(table.n_records >= k)
    whole = np.zeros(table.n_combinations, dtype=np.int64)
    attributes = local_attributes(table, k=k, style=labels, importance=[1.0] * len(table.domains))

    def lost(part_of):
        recoding = recode(table, partition_of(table, part_of, k=1), labels=labels)
        return float(np.dot(recoding.attributes[0].ncp, recoding.sizes))

    seen, domain = attributes[0], table.domains[0]
    pairs = pairs_of(
        seen.codes,
        table.counts,
        lengths=np.array([table.n_combinations]),
        smallest=seen.codes.min(keepdims=True),
        largest=seen.codes.max(keepdims=True),
    )
    pair_of = np.searchsorted(pairs.codes, seen.codes)
    found = candidates_of(seen, pairs, sizes=np.array([table.n_records]), k=k, guide=Guide.LOSS)
    sides = {}
    for first, last, score in zip(found.first.tolist(), found.last.tolist(), found.score.tolist(), strict=True):
        inside = (first <= pair_of) & (pair_of <= last)
        sides[tuple((inside == inside[0]).tolist())] = score
    codes = table.codes[0]
    cuts = [codes <= code for code in range(domain.n_values - 1)]
    for level in reversed(range(domain.n_levels)):
        nodes = domain.at_level(level)
        if nodes.max(initial=0):
            cuts += [nodes[codes] == node for node in range(nodes.max() + 1)]
            break
    expected = {}
    for inside in cuts:
        n_inside = int(table.counts[inside].sum())
        gain = lost(whole) - lost((inside != inside[0]).astype(np.int64)) if 0 < n_inside < table.n_records else 0
        if min(n_inside, table.n_records - n_inside) >= k and gain > 1e-9:
            expected[tuple((inside == inside[0]).tolist())] = pytest.approx(gain, rel=1e-5)
    assert sides == expected
