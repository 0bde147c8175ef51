# SPDX-License-Identifier: Apache-2.0
"""Attackers who know kept columns: closed forms against a slow oracle and against noise."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from kepsilon.evaluate.linking.known_columns import (
    MOST_SUBSETS,
    NoisyClasses,
    attack_with_known,
    attack_with_three,
    chosen_subsets,
    links_with_known,
    share_of_sample,
    variance_of_classes,
)
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.table.steps import Steps
from oracles.noise import SEED

EPSILONS = (0.05, 1.0, 8.0)
TIMES = 2000


def small_classes(*, n_attributes: int = 1, seed: int = SEED, is_sample: bool = False) -> NoisyClasses:
    """Forty records in five classes of unequal size, values in tenths with ties, and the range of each class."""
    rng = np.random.default_rng(seed)
    class_ids = np.sort(rng.permutation(np.concatenate([np.arange(5), rng.integers(0, 5, 35)])))
    values = np.round(rng.normal(0, 3, (40, n_attributes)), 1)
    low = np.array([values[class_ids == c].min(axis=0) for c in range(5)]).reshape(5, n_attributes)
    high = np.array([values[class_ids == c].max(axis=0) for c in range(5)]).reshape(5, n_attributes)
    return NoisyClasses(
        class_ids=class_ids,
        values=values,
        low=low,
        high=high,
        mechanism=LAPLACE,
        steps=[Steps(precision=Fraction(1, 10))] * n_attributes,
        is_sample=is_sample,
    )


def kept_column(*, n_values: int = 3, seed: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).integers(-1, n_values, 40)


def noise_of(classes: NoisyClasses, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Unrounded noise of every record, with the range of its whole class."""
    ranges = (classes.high - classes.low)[classes.class_ids]
    return LAPLACE.unit_noise(ranges > 0, rng) * ranges / epsilon


def slow_links(published, classes, known) -> float:
    """Right links of one draw: for each record the nearest original of its class that agrees on what is known."""
    links = 0.0
    ranges = (classes.high - classes.low)[classes.class_ids]
    for i in range(len(published)):
        candidates = [
            j
            for j in range(len(published))
            if classes.class_ids[j] == classes.class_ids[i] and all(own[j] == own[i] for own in known)
        ]
        scale = np.where(ranges[i] > 0, ranges[i], 1.0)
        distances = np.array(
            [np.max(np.abs(published[i] - classes.values[j]) / scale, initial=0.0) for j in candidates]
        )
        nearest = [j for j, d in zip(candidates, distances, strict=True) if d <= distances.min() + 1e-12]
        links += (i in nearest) / len(nearest)
    return links


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("n_known", [1, 2])
def test_the_closed_form_equals_monte_carlo(epsilon, n_known):
    """|z| < 5 with the deviation that was seen; a thousand such tests raise a false alarm less than once."""
    classes, known = small_classes(), [kept_column(seed=s) for s in range(n_known)]
    (found,) = attack_with_known(classes, known, epsilons=[epsilon])
    rng = np.random.default_rng(SEED)
    drawn = [slow_links(classes.values + noise_of(classes, epsilon, rng), classes, known) / 40 for _ in range(400)]
    assert abs(np.mean(drawn) - found.share.total) < 5 * np.std(drawn) / np.sqrt(len(drawn)) + 1e-12
    assert found.share.variance == 0


def test_the_range_of_the_group_instead_of_the_class_is_caught():
    """The mutant takes the noise for smaller than it is, and so expects more links than there are."""
    classes, known = small_classes(), [kept_column(n_values=2)]
    groups, ids = np.unique(np.column_stack([classes.class_ids, known[0]]), axis=0, return_inverse=True)
    own = [classes.values[ids.ravel() == g] for g in range(len(groups))]
    mutant = NoisyClasses(
        class_ids=ids.ravel(),
        values=classes.values,
        low=np.array([v.min(axis=0) for v in own]),
        high=np.array([v.max(axis=0) for v in own]),
        mechanism=LAPLACE,
        steps=classes.steps,
        is_sample=False,
    )
    right = attack_with_known(classes, known, epsilons=[8.0])[0].share.total
    wrong = attack_with_known(mutant, [], epsilons=[8.0])[0].share.total
    rng = np.random.default_rng(SEED)
    drawn = [slow_links(classes.values + noise_of(classes, 8.0, rng), classes, known) / 40 for _ in range(400)]
    error = np.std(drawn) / np.sqrt(len(drawn))
    assert abs(np.mean(drawn) - right) < 5 * error
    assert abs(np.mean(drawn) - wrong) > 5 * error


def test_two_epsilon_quasis_are_simulated_within_their_error():
    """There is no closed form then; the share comes with its standard error."""
    classes, known = small_classes(n_attributes=2), [kept_column()]
    (found,) = attack_with_known(classes, known, epsilons=[4.0])
    rng = np.random.default_rng(SEED)
    drawn = [slow_links(classes.values + noise_of(classes, 4.0, rng), classes, known) / 40 for _ in range(400)]
    error = np.hypot(np.std(drawn) / np.sqrt(len(drawn)), found.share.standard_error)
    assert abs(np.mean(drawn) - found.share.total) < 5 * error


def test_a_unique_kept_column_links_everybody():
    """Whoever knows it needs no quasi at all, at every ε."""
    for found in attack_with_known(small_classes(), [np.arange(40)], epsilons=EPSILONS):
        assert found.share.total == pytest.approx(1.0)
        assert found.largest == pytest.approx(1.0)


def test_without_an_epsilon_quasi_every_group_is_worth_one_link():
    """Records that agree on the class and on what is known look alike."""
    classes, known = small_classes(n_attributes=0), [kept_column()]
    (found,) = attack_with_known(classes, known, epsilons=[1.0])
    groups, counts = np.unique(np.column_stack([classes.class_ids, known[0]]), axis=0, return_counts=True)
    assert found.share.total == pytest.approx(len(groups) / 40)
    assert found.largest == pytest.approx(1 / counts.min())


def test_no_posterior_exceeds_the_largest():
    """The supremum over all outputs, so no draw comes above it; publishing a value itself reaches it."""
    classes, known = small_classes(), [kept_column()]
    ranges = (classes.high - classes.low)[classes.class_ids][:, 0]
    rng = np.random.default_rng(SEED)
    for epsilon in EPSILONS:
        (found,) = attack_with_known(classes, known, epsilons=[epsilon])
        reached = 0.0
        for draw in range(60):
            noise = noise_of(classes, epsilon, rng) if draw else np.zeros((40, 1))
            published = classes.values + noise
            for i in range(40):
                same = (classes.class_ids == classes.class_ids[i]) & (known[0] == known[0][i])
                scale = ranges[i] / epsilon if ranges[i] > 0 else 1.0
                weights = np.exp(-np.abs(published[i, 0] - classes.values[same, 0]) / scale)
                own = np.exp(-np.abs(published[i, 0] - classes.values[i, 0]) / scale)
                reached = max(reached, own / weights.sum())
        assert reached == pytest.approx(found.largest)


def test_the_standard_error_of_a_sample_of_classes_covers_the_truth():
    """Of 300 samples the share lies beyond three standard errors in far fewer than a tenth; without sampling it is 0."""
    rng = np.random.default_rng(SEED)
    sizes = rng.integers(5, 60, 2000)
    links = 1 + rng.gamma(2, 1, 2000)
    truth = links.sum() / sizes.sum()
    outside = 0
    for _ in range(300):
        chosen = rng.choice(2000, 100, replace=False)
        found = share_of_sample(links[chosen], sizes[chosen], is_sample=True)
        outside += abs(found.total - truth) > 3 * found.standard_error
    assert outside < 30
    assert share_of_sample(links, sizes, is_sample=False).variance == 0


def slow_three(published, classes, columns, attribute) -> float:
    """Right links of one draw by whoever knows some columns and perhaps one ε-quasi; candidates are of any class."""
    links = 0.0
    for i in range(len(classes.class_ids)):
        same = np.flatnonzero(np.all([own == own[i] for own in columns], axis=0))
        if attribute is None:
            links += 1 / len(same)
            continue
        distances = np.abs(published[i, attribute] - classes.values[same, attribute])
        nearest = same[distances <= distances.min() + 1e-12]
        links += (i in nearest) / len(nearest)
    return links


@pytest.mark.parametrize("n_attributes", [1, 2])
def test_three_attributes_equal_monte_carlo(n_attributes):
    """For one set of three with an ε-quasi, whose noise is of each record's own class."""
    classes = small_classes(n_attributes=n_attributes)
    columns = {"label": classes.class_ids // 2, "kept": kept_column(n_values=2)}
    names = ["height", "weight"][:n_attributes]
    found = attack_with_three(classes, columns, names, epsilon=4.0)
    rng = np.random.default_rng(SEED)
    drawn = np.array(
        [
            [slow_three(classes.values + noise_of(classes, 4.0, rng), classes, list(columns.values()), j) / 40]
            for j in range(n_attributes)
            for _ in range(400)
        ]
    ).reshape(n_attributes, 400)
    deviation = np.sqrt(np.var(drawn, axis=1).sum() / 400) / n_attributes
    assert (found.n_tried, found.n_possible) == (n_attributes, n_attributes)
    assert abs(drawn.mean() - found.mean) < 5 * deviation


def test_three_columns_without_noise_are_counted():
    """Whoever knows three kept columns guesses among the records that share them."""
    classes = small_classes(n_attributes=0)
    columns = {f"c{i}": kept_column(n_values=2, seed=i) for i in range(4)}
    found = attack_with_three(classes, columns, [], epsilon=1.0)
    shares = [
        slow_three(None, classes, [columns[n] for n in columns if n != left_out], None) / 40 for left_out in columns
    ]
    assert found.mean == pytest.approx(np.mean(shares))
    assert found.worst == pytest.approx(np.max(shares))
    assert len(found.worst_names) == 3


def test_of_many_sets_of_three_some_are_tried_and_the_number_is_said():
    """The same ones every time, so that check and anonymise say the same."""
    classes = small_classes()
    columns = {f"c{i}": kept_column(seed=i) for i in range(12)}
    found = attack_with_three(classes, columns, ["height"], epsilon=1.0)
    assert (found.n_tried, found.n_possible) == (MOST_SUBSETS, 220 + 66)
    assert found == attack_with_three(classes, columns, ["height"], epsilon=1.0)


def test_missing_values_and_classes_without_noise_are_no_exception():
    """A class that lacks the ε-quasi, and one whose values agree, are guessed among."""
    classes = NoisyClasses(
        class_ids=np.repeat([0, 1], 3),
        values=np.array([[np.nan]] * 3 + [[5.0]] * 3),
        low=np.array([[np.nan], [5.0]]),
        high=np.array([[np.nan], [5.0]]),
        mechanism=LAPLACE,
        steps=[Steps(precision=Fraction(1))],
        is_sample=False,
    )
    (found,) = attack_with_known(classes, [], epsilons=[2.0])
    assert found.share.total == pytest.approx(2 / 6)
    three = attack_with_three(classes, {"label": np.zeros(6, dtype=np.int64)}, ["height"], epsilon=2.0)
    assert three.mean == pytest.approx(2 / 6)


@pytest.mark.parametrize("n_attributes", [0, 1, 2])
def test_realised_links_equal_the_oracle(n_attributes):
    """Record by record, with some records left out: nobody links them, but they are candidates."""
    classes, known = small_classes(n_attributes=n_attributes), [kept_column()]
    rng = np.random.default_rng(SEED)
    for _ in range(20):
        published = classes.values + noise_of(classes, 4.0, rng)
        found = links_with_known(classes, known, published, np.ones(40, dtype=bool), epsilon=4.0)
        assert found == pytest.approx(slow_links(published, classes, known))
    stays = rng.random(40) < 0.7
    some = links_with_known(classes, known, published, stays, epsilon=4.0)
    assert some <= slow_links(published, classes, known) + 1e-9


@pytest.mark.parametrize(("n_exact", "n_noisy"), [(0, 1), (1, 0), (2, 1), (3, 2), (5, 2), (6, 0)])
def test_sets_of_three_are_all_that_have_at_most_one_epsilon_quasi(n_exact, n_noisy):
    """Each once, as enumerating them gives, in any order."""
    exact, noisy = [f"c{i}" for i in range(n_exact)], [f"v{i}" for i in range(n_noisy)]
    size = min(3, n_exact + min(1, n_noisy))
    slow = {frozenset(own) for own in combinations([*exact, *noisy], size) if len(set(own) & set(noisy)) <= 1}
    found, n_possible = chosen_subsets(exact, noisy)
    assert n_possible == len(slow)
    if n_possible <= MOST_SUBSETS:
        assert len(found) == n_possible
        assert {frozenset(own) for own in found} == slow


def test_sets_of_three_of_a_thousand_columns_are_drawn_by_number():
    """All of them would be 166 million; those drawn differ and have three names each."""
    found, n_possible = chosen_subsets([f"c{i}" for i in range(1_000)], ["v"])
    assert n_possible == 166_167_000 + 499_500
    assert len({frozenset(own) for own in found}) == MOST_SUBSETS
    assert all(len(set(own)) == 3 for own in found)


def test_classes_of_unequal_size_vary_more():
    """The bound is that of classes whose records are linked all together or not at all."""
    rng = np.random.default_rng(SEED)
    sizes = rng.integers(1, 200, 5_000)
    linked = rng.random(5_000) < 0.3
    shares = []
    for _ in range(400):
        chosen = rng.choice(5_000, 50, replace=False)
        shares.append((sizes[chosen] * linked[chosen]).sum() / sizes[chosen].sum())
    bound = variance_of_classes(0.3, sizes[:50])
    assert 0.5 * np.var(shares) < bound < 2 * np.var(shares)
