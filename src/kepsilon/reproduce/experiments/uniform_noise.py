# SPDX-License-Identifier: Apache-2.0
"""What uniform noise of ±5 % of a value tells for certain, and noise per class of the same mean error does not. Paper §III-C.

Uniform noise leaves [v(1 − u), v(1 + u)] and nothing else, so what is published rules out every original outside
[x/(1 + u), x/(1 − u)]. Uniform values are not rounded here: the paper's are not, and rounding would blur the ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.evaluate.error.error_curves import UNIFORM
from kepsilon.evaluate.linking.linking_risk import ABOVE, link_gaps, posteriors, realised_links
from kepsilon.evaluate.originals.class_values import ClassValues
from kepsilon.evaluate.originals.sorted_classes import SortedClasses, sort_classes
from kepsilon.json_values import Json
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.randomness import ByteSource, uniform_uint64
from kepsilon.reproduce.experiments.counted_data import CountedData, NoisyClasses, noise_source
from kepsilon.reproduce.experiments.distributions import epsilon_as_uniform
from kepsilon.reproduce.scope import SHOWN_K, Scope
from kepsilon.table.arrays import FloatArray, IntArray

MOST_RUNS = 10
"""Every record is drawn in every run, so that few runs say much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """What one run of published values gives away, as shares; every record counts the same."""

    ruled_out: float
    """Share of the other originals of a class that a published value cannot come from."""
    risk: float
    """Records linked by the attacker who picks the likeliest original; a tie of t is worth 1/t."""
    over_half: float
    """Records whose own original has a posterior above 0.5."""
    over_nine_tenths: float
    certain: float
    """Records whose own original is the only one left."""
    least_likelihood: float
    """The least likelihood of any original of a class beside the likeliest, over all records; 0 where one is ruled out."""


def uniform_noise(data: CountedData, algorithm: str, scope: Scope) -> Json:
    """At k = 20: uniform ±5 % noise beside noise per class of the same mean error, by closed form and by draws."""
    partition = data.partitions(algorithm, [SHOWN_K])[SHOWN_K]
    noisy = data.noisy_classes(partition, data.policy(algorithm=algorithm, k=SHOWN_K))
    classes = sort_classes(noisy.values, noisy.ranges.class_ids, n_classes=len(noisy.ranges.low))
    epsilon = epsilon_as_uniform(noisy)
    runs = min(scope.runs, MOST_RUNS)
    source = noise_source(scope, "uniform", data.data.name, algorithm)
    uniform_runs = [attack_uniform(classes, uniformly_noisy(noisy.values, source)) for _ in range(runs)]
    class_runs = [attack_laplace(classes, noisy, noisy.draw(epsilon, source), epsilon=epsilon) for _ in range(runs)]
    n = len(noisy.values)
    expected = link_gaps(classes, ranges=noisy.ranges.widths[:, 0], law=LAPLACE).expected(epsilon)
    return {
        **data.heading(algorithm),
        "k": SHOWN_K,
        "uniform": UNIFORM,
        "epsilon": epsilon,
        "mean_error": UNIFORM / 2,
        "runs": runs,
        "disjoint_pairs": disjoint_pairs(classes),
        "uniform_noise": {
            **_spreads(uniform_runs),
            "ruled_out_expected": expected_ruled_out(classes),
            "risk_expected": expected_uniform_links(classes) / n,
        },
        "class_noise": {
            **_spreads(class_runs),
            "ruled_out_expected": 0.0,
            "risk_expected": expected.fair.total / n,
            "least_likelihood_bound": math.exp(-epsilon),
        },
    }


def disjoint_pairs(classes: ClassValues) -> float | None:
    """Of all pairs of records of one class that differ, the share whose published values can never agree.

    v < w have no common value if v(1 + u) < w(1 − u). None where no two records of a class differ.
    """
    before, in_class = _counts_before(classes)
    beyond = classes.n_distinct_up_to(classes.values * _FAR, classes.class_ids, include_equal=True)
    ends = before[classes.starts[1:]][classes.class_ids]
    n_disjoint = int(np.dot(classes.counts, ends - before[beyond]))
    n_differing = int(np.dot(classes.counts, in_class - classes.counts)) // 2
    return n_disjoint / n_differing if n_differing else None


def expected_ruled_out(classes: ClassValues) -> float:
    """The mean share of the other originals of its class that what is published of a record rules out.

    w stays possible with the part of v's interval that lies in w's: for w above v that is v(1 + u) − w(1 − u), and for w
    below it w(1 + u) − v(1 − u), over 2uv, where positive. Both are sums over neighbours in the order of values. An
    original with the same value is never ruled out.
    """
    before, in_class = _counts_before(classes)
    sums_before = np.concatenate([[0.0], np.cumsum(classes.counts * classes.values)])
    own, v, ids = np.arange(len(classes.values)), classes.values, classes.class_ids
    above = classes.n_distinct_up_to(v * _FAR, ids, include_equal=True)
    below = classes.n_distinct_up_to(v / _FAR, ids, include_equal=False)
    n_above, sum_above = before[above] - before[own + 1], sums_before[above] - sums_before[own + 1]
    n_below, sum_below = before[own] - before[below], sums_before[own] - sums_before[below]
    overlap = (1 + UNIFORM) * v * n_above - (1 - UNIFORM) * sum_above
    overlap += (1 + UNIFORM) * sum_below - (1 - UNIFORM) * v * n_below
    n_ruled_out = in_class - classes.counts - overlap / (2 * UNIFORM * v)
    return float(np.dot(classes.counts, n_ruled_out / np.maximum(in_class - 1, 1)) / classes.counts.sum())


def expected_uniform_links(classes: ClassValues) -> float:
    """Links of the attacker who picks the likeliest original, which no attacker beats: the sum of max_v f(x | v) over x.

    The density 1/(2uv) is largest for the smallest original that is possible. The i-th value of a class is that from
    where the one before it ends, v(1 + u), so its share of its own interval is min(1, (1 + u)(v_i − v_{i−1})/(2u·v_i)).
    """
    gaps, before = classes.gaps()
    shares = np.minimum(1.0, (1 + UNIFORM) * gaps / (2 * UNIFORM * classes.values[before + 1]))
    return float(np.count_nonzero(classes.n_distinct) + shares.sum())


def uniformly_noisy(values: FloatArray, source: ByteSource) -> FloatArray:
    drawn = ((uniform_uint64(len(values), source) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    noisy: FloatArray = values * (1 + UNIFORM * (2 * drawn - 1))
    return noisy


def attack_uniform(classes: SortedClasses, published: FloatArray) -> Attack:
    """What uniform noise gives away: an original that is possible weighs 1/v, its density; the others are ruled out."""
    before, in_class = _counts_before(classes)
    place, x = classes.place, published[classes.order]
    ids = classes.class_ids[place]
    first = classes.n_distinct_up_to(x / (1 + UNIFORM), ids, include_equal=False)
    last = classes.n_distinct_up_to(x / (1 - UNIFORM), ids, include_equal=True)
    # What was drawn within a rounding error of an end came from its own original all the same.
    first, last = np.minimum(first, place), np.maximum(last, place + 1)
    weights = np.concatenate([[0.0], np.cumsum(classes.counts / classes.values)])
    posterior = 1 / classes.values[place] / (weights[last] - weights[first])
    n_possible = before[last] - before[first]
    size = in_class[place]
    return Attack(
        ruled_out=float(np.mean((size - n_possible) / np.maximum(size - 1, 1))),
        risk=float(np.mean((first == place) / classes.counts[place])),
        over_half=float(np.mean(posterior > 0.5 * ABOVE)),
        over_nine_tenths=float(np.mean(posterior > 0.9 * ABOVE)),
        certain=float(np.mean(n_possible == 1)),
        least_likelihood=0.0
        if (n_possible < size).any()
        else float(np.min(classes.values[first] / classes.values[last - 1])),
    )


def attack_laplace(classes: SortedClasses, noisy: NoisyClasses, published: FloatArray, *, epsilon: float) -> Attack:
    """What noise per class gives away: an original weighs exp(−ε|x − v|/R), and one that weighs nothing is ruled out.

    The least likely original is an end of the class. Where not even that one is ruled out, none is; so `ruled_out` and
    `certain` are the most that can be, which is enough to see that they are 0.
    """
    widths = noisy.ranges.widths[:, 0]
    low, high = noisy.ranges.low[noisy.ranges.class_ids, 0], noisy.ranges.high[noisy.ranges.class_ids, 0]
    farthest = np.maximum(np.abs(published - low), np.abs(published - high))
    beyond = np.maximum(np.maximum(low - published, published - high), 0.0)  # 0 for what lies among the originals
    with np.errstate(invalid="ignore", divide="ignore"):
        likelihood = np.exp(-epsilon * (farthest - beyond) / noisy.widths)
    likelihood[noisy.widths == 0] = 1.0
    is_ruled_out = likelihood == 0
    posterior = posteriors(classes, published, ranges=widths, epsilon=epsilon)
    fair, _ = realised_links(classes, published)
    sizes = np.bincount(noisy.ranges.class_ids)[noisy.ranges.class_ids]
    return Attack(
        ruled_out=float(np.mean(is_ruled_out)),
        risk=float(np.mean(fair)),
        over_half=float(np.mean(posterior > 0.5 * ABOVE)),
        over_nine_tenths=float(np.mean(posterior > 0.9 * ABOVE)),
        certain=float(np.mean(is_ruled_out | (sizes == 1))),
        least_likelihood=float(likelihood.min()),
    )


_FAR = (1 + UNIFORM) / (1 - UNIFORM)
"""Two values with a larger ratio have no published value in common."""


def _counts_before(classes: ClassValues) -> tuple[IntArray, IntArray]:
    """Numbers of records before each distinct value, with that of all records last, and the size of each value's class."""
    before: IntArray = np.concatenate([[0], np.cumsum(classes.counts)])
    return before, classes.sizes[classes.class_ids]


def _spreads(runs: Sequence[Attack]) -> Json:
    """Means over the runs, and the standard error of each."""
    found: Json = {"least_likelihood": min(run.least_likelihood for run in runs)}
    for name in ("ruled_out", "risk", "over_half", "over_nine_tenths", "certain"):
        figures = np.array([getattr(run, name) for run in runs])
        found[name] = float(figures.mean())
        found[f"{name}_standard_error"] = float(figures.std(ddof=1) / math.sqrt(len(runs))) if len(runs) > 1 else None
    return found
