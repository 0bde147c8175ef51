# SPDX-License-Identifier: Apache-2.0
"""One look at all records of each person: their classes, their values, and whether one draw can serve them all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest

import kepsilon
from kepsilon.draw import perturb_and_measure
from kepsilon.evaluate.confident_k.confident_k import ConfidentK
from kepsilon.predict.outlook import largest_posteriors_of, outlook_of
from kepsilon.predict.persons import look_at_persons
from kepsilon.stopwatch import Stopwatch, ignore_step
from material.person_classes import encounters, policy_of
from oracles.noise import SEED, seeded

PLAIN = [(2.0, None)]


def test_the_look_finds_every_person_once():
    """Whatever classes their records are in, and in whatever batches these come."""
    classes = encounters(d=2)
    policy = policy_of("height", "weight")
    look = look_at_persons(classes, policy)
    assert look.persons.tolist() == sorted(set(classes.persons.tolist()))
    assert look.varying == {"height": 0, "weight": 0}
    for i, person in enumerate(look.persons):
        assert np.array_equal(np.unique(classes.values[classes.persons == person], axis=0), look.values[i : i + 1])
    slowly = [tuple(sorted(Counter(classes.class_ids[classes.persons == p].tolist()).items())) for p in look.persons]
    groups = {}
    for i, signature in enumerate(slowly):
        groups.setdefault(signature, set()).add(int(look.signatures.of_person[i]))
    assert all(len(numbers) == 1 for numbers in groups.values())
    assert len(groups) == look.signatures.n_signatures
    assert look.signatures.n_records.tolist() == [sum(n for _, n in signature) for signature in slowly]
    classes.at_once = 100
    together = look_at_persons(classes, policy)
    assert together.signatures.of_person.tolist() == look.signatures.of_person.tolist()


@dataclass(frozen=True)
class InParts:
    """A class that is looked at a few records at a time."""

    batch: object
    class_id: int = 0
    most_values: int = 1000

    def parts(self):
        own = self.batch
        for first in range(0, len(own.class_ids), 11):
            part = slice(first, first + 11)
            yield replace(own, class_ids=own.class_ids[part], values=own.values[part], persons=own.persons[part])


def test_a_class_in_parts_is_looked_at_as_a_whole_one():
    classes, policy = encounters(n_wards=1), policy_of("height")
    whole = look_at_persons(classes, policy)

    class Divided:
        sizes = classes.sizes

        def each(self, look):
            return [look(InParts(batch)) for _, batch in classes.batches()]

    found = look_at_persons(Divided(), policy)
    assert found.persons.tolist() == whole.persons.tolist()
    assert found.values.tolist() == whole.values.tolist()
    assert found.signatures.of_person.tolist() == whole.signatures.of_person.tolist()
    with pytest.raises(kepsilon.AnonymisationError, match="too large to be held in memory"):
        outlook_of(Divided(), policy, PLAIN)


def varied(*, where):
    """Encounters of which some differ from others of the same patient."""
    classes = encounters(d=2)
    several = [p for p, n in Counter(classes.persons.tolist()).items() if n > 1][:7]
    values = classes.values.copy()
    for person in several:
        values[np.flatnonzero(classes.persons == person)[-1], where] += 0.1
    return replace(classes, values=values), len(several)


def test_what_differs_within_a_person_is_refused_before_anything_is_drawn():
    """By check, explore and anonymise, which all begin with the outlook; without a value in the message."""
    classes, n = varied(where=1)
    policy = policy_of("height", "weight")
    assert look_at_persons(classes, policy).varying == {"height": 0, "weight": n}
    with pytest.raises(kepsilon.DataError) as refused:
        outlook_of(classes, policy, PLAIN)
    assert str(refused.value) == (
        'epsilon_per = "person" draws once for each person, but weight differs between the records of 7 of 60 persons.\n'
        "  Make it constant in the input, or state max_records_per_person, so that a person's records share epsilon."
    )
    outlook_of(classes, policy_of("height", "weight", max_records_per_person=40), PLAIN)
    outlook_of(classes, policy_of("height", "weight", epsilon_per="record"), PLAIN)


def test_values_that_are_clipped_to_one_end_do_not_differ():
    """What gets noise is what has to be constant."""
    classes = encounters()
    rng = np.random.default_rng(SEED)
    beyond = replace(classes, values=np.where(classes.values > 50, 100 + rng.uniform(0, 9, classes.values.shape), 20.0))
    found = look_at_persons(beyond, policy_of("height"))
    assert found.varying == {"height": 0}
    assert set(found.values[:, 0].tolist()) == {20.0, 100.0}


def draw(classes, policy, **settings):
    outlook = outlook_of(classes, policy, [(float(policy.record_epsilon), None)], **settings)
    measured = perturb_and_measure(classes, outlook, policy, random=seeded(), clock=Stopwatch(ignore_step), **settings)
    return outlook, measured


def published(classes):
    return np.array([classes.published[i] for i in range(len(classes.persons))])


def test_all_records_of_a_person_get_one_draw():
    """In every class and batch; persons are drawn apart."""
    classes = encounters(n_patients=300, d=2)
    _, measured = draw(classes, policy_of("height", "weight"))
    found = published(classes)
    by_person = {}
    for person, x in zip(classes.persons.tolist(), found.tolist(), strict=True):
        by_person.setdefault(person, set()).add(tuple(x))
    assert all(len(values) == 1 for values in by_person.values())
    assert len(set.union(*by_person.values())) > 290
    assert measured.realised.persons.fewest == min(
        len(set(classes.persons[classes.class_ids == c].tolist())) for c in range(len(classes.sizes))
    )


@pytest.mark.parametrize("epsilon_per", ["person", "record"])
def test_averaging_forty_records_of_a_patient_gains_nothing_with_one_draw(epsilon_per):
    """Measured: with a draw for each record the mean of forty is √40 times nearer; with one draw it is no nearer.

    1,500 patients of forty records each. The mean distance of Laplace noise from 0 is its scale, of a mean of forty about
    √(2/π)·√(2/40) of it. Ratios of mean distances have a standard error of about 3 %, so that a fifth is six of them.
    """
    rng = np.random.default_rng(SEED)
    n, r = 1_500, 40
    classes = encounters()
    persons = np.repeat(np.arange(n), r)
    classes = replace(
        classes,
        persons=persons,
        class_ids=rng.integers(0, 6, n * r),
        values=np.repeat(rng.uniform(20, 80, (n, 1)).round(1), r, 0),
    )
    policy = policy_of("height", epsilon=20, epsilon_per=epsilon_per)
    draw(classes, policy)
    off = (published(classes) - classes.values)[:, 0].reshape(n, r)
    one, mean = np.abs(off[:, 0]).mean(), np.abs(off.mean(axis=1)).mean()
    assert one == pytest.approx(100 / 20, rel=0.2)
    gain = one / mean
    if epsilon_per == "person":
        assert np.all(off == off[:, :1])
        assert gain == pytest.approx(1)
    else:
        assert gain == pytest.approx(np.sqrt(40) * np.sqrt(np.pi) / 2, rel=0.2)


def test_one_draw_scaled_by_two_ranges_gives_the_value_away():
    """Why the policy refuses class ranges here: z is the draw, R₁ and R₂ the ranges, and both values show x = v + z·R."""
    value, draw_of_person = 63.7, np.random.default_rng(SEED).laplace(0, 1 / 0.1)
    x1, x2 = value + draw_of_person * 12.0, value + draw_of_person * 31.5
    assert abs(x1 - value) > 5, "each by itself hides it"
    assert abs(x2 - value) > 5
    assert (x1 * 31.5 - x2 * 12.0) / (31.5 - 12.0) == pytest.approx(value, abs=1e-9)
    document = policy_of("height").model_dump(mode="json", exclude_none=True)
    for declared in ("class", {"coarse": 10}):
        document["attributes"]["height"]["range"] = declared
        with pytest.raises(kepsilon.PolicyError, match="gives the value away"):
            kepsilon.Policy.from_dict(document)
    classes = encounters(n_patients=300)
    draw(classes, policy_of("height"))
    found = published(classes)[:, 0]
    alike = [np.unique(found[classes.persons == p]) for p in np.unique(classes.persons)]
    assert all(len(own) == 1 for own in alike), (
        "with a declared range there is one published value, and nothing to solve"
    )


@pytest.mark.parametrize("names", [["height"], ["height", "weight"]])
def test_what_joining_links_as_drawn_is_what_was_expected(names):
    """Within five standard deviations of a share of 400 patients; None where confident k leaves records out."""
    classes = encounters(n_patients=400, d=len(names))
    classes.class_ids[:] = 0
    outlook, measured = draw(classes, policy_of(*names, epsilon=8))
    (expected,) = outlook.joined
    look = outlook.look
    off = np.sqrt(expected.share.total * np.sum(look.signatures.n_records.astype(float) ** 2)) / len(classes.persons)
    assert abs(measured.joined_share - expected.share.total) < 5 * np.hypot(off, expected.share.standard_error)
    assert 0.02 < measured.joined_share < 0.9
    _, confident = draw(classes, policy_of(*names, epsilon=8, confidence=0.9))
    assert confident.joined_share is None


def test_one_person_in_a_signature_is_known_for_sure_whatever_epsilon_is():
    """A limit on single risks has to see it: in every class the patient is one of many."""
    classes, policy = encounters(), policy_of("height", epsilon=0.1)
    outlook = outlook_of(classes, policy, [(0.1, None)])
    (joined,) = outlook.joined
    assert joined.largest == joined.largest_by_matching == 1
    assert outlook.expected[0].largest_possible < 1
    assert joined.share.total > outlook.expected[0].links.fair.total / outlook.expected[0].n_records
    assert largest_posteriors_of(classes, policy, [0.1, 0.2]) == [1, 1]


def test_the_outlook_counts_the_persons_of_every_class():
    classes = encounters()
    outlook = outlook_of(classes, policy_of("height"), PLAIN)
    for c in range(len(classes.sizes)):
        own = Counter(classes.persons[classes.class_ids == c].tolist())
        assert outlook.n_persons[c] == len(own)
        assert outlook.most_of_a_person[c] == max(own.values())
    by_record = outlook_of(classes, policy_of("height", epsilon_per="record"), PLAIN)
    assert by_record.look is None
    assert by_record.joined is None


class FewLeft:
    """Fails classes of which fewer than so many records stay, and remembers nothing, so that it can travel."""

    def __init__(self, n):
        self.n = n

    def __call__(self, batch, stays):
        n_classes = batch.classes.stop - batch.classes.start
        assert len(batch.sensitive) == len(batch.persons) == len(batch.values) == len(stays)
        return np.bincount(batch.class_ids[stays], minlength=n_classes) >= self.n


def test_classes_that_fail_another_requirement_are_not_released():
    """Whole classes go, and nothing else changes; what is expected to go grows with them."""
    classes = encounters(n_patients=200)
    classes.sensitive = np.zeros((len(classes.persons), 1), dtype=np.int64)
    policy = policy_of("height", confidence=0.7, epsilon=30, k=3)
    needed = int(np.median(classes.sizes))
    _, before = draw(classes, policy)
    plain = dict(classes.published)
    classes.published.clear()
    _, after = draw(classes, policy, recheck=FewLeft(needed))
    gone = (after.sizes == 0) & (before.sizes > 0)
    assert gone.any()
    assert not gone.all()
    assert after.sizes[~gone].tolist() == before.sizes[~gone].tolist()
    assert set(classes.published) == {i for i in plain if not gone[classes.class_ids[i]]}
    assert all(np.array_equal(plain[i], classes.published[i]) for i in classes.published)
    assert np.all(after.sizes[after.sizes > 0] >= needed)
    setting = [(30.0, ConfidentK.asked_by(policy))]
    expected = [
        outlook_of(classes, policy, setting, recheck=own).expected[0].suppressed.total
        for own in (None, FewLeft(needed))
    ]
    assert expected[0] < expected[1]
    without = policy_of("height", epsilon=30, k=3)
    draw(classes, without, recheck=FewLeft(10**9))
    assert len(classes.published) == len(classes.persons), (
        "without confident k nothing was taken, and nothing is checked again"
    )
