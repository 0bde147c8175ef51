# SPDX-License-Identifier: Apache-2.0
"""What exact noise costs: our draws against NumPy's floating-point Laplace, in the same run.

    python benchmarks/noise.py [--repeats 15]

Every line times a million records and, right before, a million of NumPy's draws, and repeats both; the ratio is that of
each pair, so that a machine that is busy for a while is busy for both. NumPy's noise is not safe to publish.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from fractions import Fraction
from statistics import median

import numpy as np

from kepsilon.perturb.mechanisms.bounded_laplace import BOUNDED_LAPLACE
from kepsilon.perturb.mechanisms.laplace import LAPLACE, perturb
from kepsilon.perturb.mechanisms.protocol import Mechanism
from kepsilon.perturb.sampler import record_noise
from kepsilon.randomness import system_bytes
from kepsilon.table.steps import Steps

N_RECORDS = 1_000_000
EPSILONS = (Fraction(1, 20), Fraction(1), Fraction(2), Fraction(16))


def main() -> None:
    parser = argparse.ArgumentParser(description="exact noise against NumPy's floating-point Laplace")
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    source, generator = system_bytes(), np.random.default_rng()
    print(
        f"{N_RECORDS:,} records, {repeats} repeats; milliseconds and ratios are medians, with the smallest and largest.\n"
    )
    print("| draws | ε | d | ours, ms | NumPy, ms | ratio |")
    print("|---|---|---|---|---|---|")

    for d in (1, 2, 3):
        for epsilon in EPSILONS:

            def ours(d: int = d, epsilon: Fraction = epsilon) -> object:
                return record_noise(N_RECORDS, d, epsilon=epsilon, source=source)

            def theirs(d: int = d, epsilon: Fraction = epsilon) -> object:
                return generator.laplace(scale=1 / float(epsilon), size=(N_RECORDS, d))

            _print_line("noise of records", float(epsilon), d, ours, theirs, repeats=repeats)

    values, class_ids, lo, hi = _records(generator)

    def release() -> object:
        return perturb(
            values,
            class_ids,
            lo,
            hi,
            epsilon=Fraction(2),
            precisions=[Fraction(1, 10)],
            domains=[None],
            source=source,
        )

    def naive_release() -> object:
        scales = (hi - lo)[class_ids] / 2
        return np.round(values + generator.laplace(scale=scales), 1)

    _print_line("published, 50,000 classes", 2.0, 1, release, naive_release, repeats=repeats)

    print("\n| draws | ε | d | `bounded-laplace`, ms | `laplace`, ms | ratio |")
    print("|---|---|---|---|---|---|")
    steps = [Steps(precision=Fraction(1, 10))]
    for epsilon in EPSILONS:

        def published_by(mechanism: Mechanism, epsilon: Fraction = epsilon) -> Callable[[], object]:
            return lambda: mechanism.draw(values, class_ids, lo, hi, epsilon=epsilon, steps=steps, source=source)

        pair = published_by(BOUNDED_LAPLACE), published_by(LAPLACE)
        _print_line("published, 50,000 classes", float(epsilon), 1, *pair, repeats=repeats)


def _records(
    generator: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    class_ids = generator.integers(0, 50_000, N_RECORDS)
    lo = np.round(generator.normal(150, 3, (50_000, 1)), 1)
    hi = lo + np.round(generator.uniform(10, 50, (50_000, 1)), 1)
    values = lo[class_ids] + (hi - lo)[class_ids] * generator.random((N_RECORDS, 1))
    return values, class_ids, lo, hi


def _print_line(
    name: str,
    epsilon: float,
    d: int,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    *,
    repeats: int,
) -> None:
    ours()  # tables are built once per ε; they cost about 10 ms and are kept
    pairs = [(_seconds(theirs), _seconds(ours)) for _ in range(repeats)]
    own = sorted(own for _, own in pairs)
    ratios = sorted(own / other for other, own in pairs)
    other = median(other for other, _ in pairs)
    milliseconds = _spread([1e3 * seconds for seconds in own], 1)
    print(f"| {name} | {epsilon:g} | {d} | {milliseconds} | {1e3 * other:.1f} | {_spread(ratios, 2)} |", flush=True)


def _seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _spread(rising: list[float], places: int) -> str:
    return f"{median(rising):.{places}f} ({rising[0]:.{places}f}–{rising[-1]:.{places}f})"


if __name__ == "__main__":
    main()
