# SPDX-License-Identifier: Apache-2.0
"""Expected figures by persons: what the simulation says before the draw is what fresh draws do on average."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from kepsilon.evaluate.confident_k import simulated_suppression
from kepsilon.evaluate.confident_k.confident_k import ConfidentK, ZeroRule
from kepsilon.evaluate.confident_k.simulated_suppression import Counting
from kepsilon.evaluate.expectations import expect
from kepsilon.evaluate.simulation import Blocks
from kepsilon.evaluate.tally import realise
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.table.coded_values import code_values
from kepsilon.table.steps import Steps
from oracles.noise import SEED, seeded

TENTH = Fraction(1, 10)
N_CLASSES = 14
DRAWS = 150


def hospital(d, *, constant=False):
    """Classes of 8 to 40 encounters; a patient has one to nine in a class. In every third class nobody has two."""
    rng = np.random.default_rng([SEED, d])
    sizes = rng.integers(8, 41, N_CLASSES)
    ids = np.repeat(np.arange(N_CLASSES), sizes)
    persons = np.where(ids % 3 == 0, 5000 + np.arange(len(ids)), rng.integers(0, 120, len(ids)))
    persons = np.where((ids % 3 == 1) & (rng.random(len(ids)) < 0.3), 200 + ids, persons)
    height = np.column_stack([rng.normal(70, 9, 6000), rng.lognormal(4, 0.3, 6000)]).round(1)[:, :d]
    own = np.column_stack([rng.normal(70, 9, len(ids)), rng.lognormal(4, 0.3, len(ids))]).round(1)[:, :d]
    values = height[persons] if constant else own
    order = np.lexsort((persons, *values.T[::-1], ids))
    values, persons = values[order], persons[order]
    if constant:
        low, high = (np.tile(f(height, axis=0), (N_CLASSES, 1)) for f in (np.min, np.max))
    else:
        low, high = (np.array([f(values[ids == c], axis=0) for c in range(N_CLASSES)]) for f in (np.min, np.max))
    arguments = {"mechanism": LAPLACE, "low": low, "high": high, "steps": [Steps(precision=TENTH)] * d}
    return values, ids, persons, arguments


def coded(values):
    return [code_values(values[:, 0], precision=TENTH)] if values.shape[1] == 1 else []


def confident(rule, d, k=4):
    return ConfidentK(k=k, confidence=0.8, rule=rule, precisions=(TENTH,) * d)


def drawn(values, ids, persons, arguments, *, epsilon, asked, once=False, still_meets=None):
    """Mean and variance of the mean of how many are suppressed, over fresh draws; one draw for each person, if asked for."""
    source, gone = seeded(), []
    _, first, own = np.unique(persons, return_index=True, return_inverse=True)
    for _ in range(DRAWS):
        published = LAPLACE.draw(
            values, ids, arguments["low"], arguments["high"], epsilon=Fraction(epsilon), steps=arguments["steps"],
            source=source,
        )  # fmt: skip
        published = published[first[own]] if once else published
        columns = [published[:, j] for j in range(values.shape[1])]
        stays, _ = realise(
            values, columns, ids, **arguments, epsilon=epsilon, confident=asked, persons=persons,
            still_meets=still_meets,
        )  # fmt: skip
        gone.append(np.count_nonzero(~stays))
    return np.mean(gone), np.var(gone, ddof=1) / DRAWS


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("rule", ZeroRule)
def test_expected_suppression_by_persons_is_that_of_fresh_draws(d, rule, monkeypatch):
    """Within five standard errors of both; by records it would be far less."""
    monkeypatch.setattr(simulated_suppression, "_SIMULATED", 30_000)
    values, ids, persons, arguments = hospital(d)
    asked = confident(rule, d)
    found = expect(values, coded(values), ids, **arguments, counting=Counting(persons=persons)).at(6.0, confident=asked)
    mean, variance = drawn(values, ids, persons, arguments, epsilon=6.0, asked=asked)
    assert abs(found.suppressed.total - mean) < 5 * math.sqrt(found.suppressed.variance + variance)
    by_records = expect(values, coded(values), ids, **arguments).at(6.0, confident=asked)
    assert by_records.suppressed.at_most < found.suppressed.total


def test_one_draw_for_each_person_is_expected_as_it_is_drawn(monkeypatch):
    """All records of a person then stay or go together, and more classes are left with too few persons."""
    monkeypatch.setattr(simulated_suppression, "_SIMULATED", 30_000)
    rng = np.random.default_rng(SEED)
    ids = np.repeat(np.arange(20), 7 * 6)
    persons = np.repeat(np.arange(140), 6)
    values = rng.normal(70, 9, 140).round(1)[persons, np.newaxis]
    order = np.lexsort((persons, values[:, 0], ids))
    values, persons = values[order], persons[order]
    ends = {"low": np.full((20, 1), 40.0), "high": np.full((20, 1), 100.0)}
    arguments = {"mechanism": LAPLACE, **ends, "steps": [Steps(precision=TENTH)]}
    asked = confident(ZeroRule.SUPPRESS_ZERO, 1, k=4)

    def expected(*, once):
        counting = Counting(persons=persons, draws_once=once)
        return expect(values, coded(values), ids, **arguments, counting=counting).at(8.0, confident=asked).suppressed

    mean, variance = drawn(values, ids, persons, arguments, epsilon=8.0, asked=asked, once=True)
    together, apart = expected(once=True), expected(once=False)
    assert abs(together.total - mean) < 5 * math.sqrt(together.variance + variance)
    assert abs(apart.total - mean) > 5 * math.sqrt(apart.variance + variance)


@pytest.mark.parametrize("d", [1, 2])
def test_a_window_of_a_class_is_enough_where_k_persons_of_it_stay(d, monkeypatch):
    """And where they do not, more of the class is given noise until that is decided."""
    monkeypatch.setattr(simulated_suppression, "_SIMULATED", 30_000)
    values, ids, persons, arguments = hospital(d)
    asked = confident(ZeroRule.STRICT, d)
    counting = Counting(persons=persons)

    def expected(blocks):
        found = expect(values, coded(values), ids, **arguments, counting=counting, blocks=blocks)
        return found.at(6.0, confident=asked).suppressed

    whole = expected(Blocks.of(np.bincount(ids)))
    monkeypatch.setattr(simulated_suppression, "_WINDOW", 6)
    seen = expected(Blocks.of(np.bincount(ids), first_class=100))
    assert seen != whole
    assert abs(seen.total - whole.total) < 5 * math.sqrt(seen.variance + whole.variance)


class EvenLeft:
    """A requirement that some classes fail after confident k: an even number of records has to stay."""

    def __init__(self, ids):
        self.ids = ids

    def __call__(self, records, class_ids, n_classes, stays):
        assert len(records) == len(class_ids) == len(stays)
        assert np.array_equal(np.bincount(class_ids, minlength=n_classes), self._sizes(records, class_ids, n_classes))
        return np.bincount(class_ids[stays], minlength=n_classes) % 2 == 0

    def _sizes(self, records, class_ids, n_classes):
        """Whole classes are asked about, all their records in one."""
        first = np.zeros(n_classes, dtype=np.int64)
        first[class_ids] = self.ids[records]
        assert np.array_equal(first[class_ids], self.ids[records])
        return np.bincount(self.ids)[first]


@pytest.mark.parametrize("persons_known", [True, False])
def test_classes_that_fail_another_requirement_afterwards_are_expected_to_go(persons_known, monkeypatch):
    """With persons or without, what is simulated is what is drawn."""
    monkeypatch.setattr(simulated_suppression, "_SIMULATED", 30_000)
    values, ids, persons, arguments = hospital(1)
    persons = persons if persons_known else None
    asked = confident(ZeroRule.TEXT, 1)
    counting = Counting(persons=persons, still_meets=EvenLeft(ids))
    found = expect(values, coded(values), ids, **arguments, counting=counting).at(6.0, confident=asked)

    def still_meets(stays):
        return np.bincount(ids[stays], minlength=N_CLASSES) % 2 == 0

    own = np.arange(len(ids)) if persons is None else persons
    mean, variance = drawn(values, ids, own, arguments, epsilon=6.0, asked=asked, still_meets=still_meets)
    assert abs(found.suppressed.total - mean) < 5 * math.sqrt(found.suppressed.variance + variance)
    without = expect(values, coded(values), ids, **arguments, counting=Counting(persons=persons))
    assert without.at(6.0, confident=asked).suppressed.at_most < 0.8 * mean


@pytest.mark.parametrize("d", [0, 1, 2])
def test_figures_add_up_however_blocks_are_cut(d):
    """Classes are independent, so that batches of blocks give what all classes give together."""
    values, ids, persons, arguments = hospital(max(d, 1))
    values = values[:, :d]
    arguments = {**arguments, "low": arguments["low"][:, :d], "high": arguments["high"][:, :d]}
    arguments["steps"] = arguments["steps"][:d]
    sizes = np.bincount(ids)
    blocks = Blocks(bounds=np.array([0, 3, 4, 9, N_CLASSES]), n_records=len(ids))
    asked = confident(ZeroRule.TEXT, d) if d else None

    def look(classes):
        own = np.flatnonzero((ids >= classes.start) & (ids < classes.stop))
        ends = {name: arguments[name][classes] for name in ("low", "high")}
        return expect(
            values[own], coded(values[own]), ids[own] - classes.start, **{**arguments, **ends},
            counting=Counting(persons=persons[own]), blocks=blocks.within(classes),
        ).at(2.0, confident=asked)  # fmt: skip

    whole = look(slice(0, N_CLASSES))
    parts = look(slice(0, 4)) + look(slice(4, N_CLASSES))
    assert whole.n_records == parts.n_records == sizes.sum()
    assert parts.links.fair.total == pytest.approx(whole.links.fair.total, rel=1e-12)
    assert parts.links.fair.variance == pytest.approx(whole.links.fair.variance, rel=1e-12)
    assert parts.largest_possible == pytest.approx(whole.largest_possible, rel=1e-12)
    assert parts.largest_possible_by_matching == pytest.approx(whole.largest_possible_by_matching, rel=1e-12)
    if d:
        assert parts.suppressed.total == pytest.approx(whole.suppressed.total, rel=1e-12)
        assert whole.links.fair.variance > 0
    else:
        assert whole.links.fair.variance == 0


def test_without_repetition_nothing_changes():
    """Bit for bit: a person with one record in each class is a record."""
    for d in (1, 2):
        values, ids, _, arguments = hospital(d)
        persons = np.concatenate([np.arange(n) for n in np.bincount(ids)])
        asked = confident(ZeroRule.TEXT, d)
        plain = expect(values, coded(values), ids, **arguments).at(3.0, confident=asked)
        counting = Counting(persons=persons)
        assert expect(values, coded(values), ids, **arguments, counting=counting).at(3.0, confident=asked) == plain


def test_records_that_are_out_of_order_are_refused():
    values, ids, persons, arguments = hospital(1)
    with pytest.raises(ValueError, match="not in the order of their classes"):
        expect(values[::-1], coded(values[::-1]), ids[::-1], **arguments, counting=Counting(persons=persons))
