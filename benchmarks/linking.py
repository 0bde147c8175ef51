# SPDX-License-Identifier: Apache-2.0
"""Nearest-neighbour links of every record beside the two simple ways: a loop over classes, and one flat search.

The loop wins for few large classes, the flat search for many small ones; the kernel should stay near whichever is
faster. `python benchmarks/linking.py`
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from kepsilon.evaluate.linking.linking_risk import realised_links
from kepsilon.evaluate.originals.sorted_classes import blocks_of_classes, sort_classes

SHAPES = ((10_000_000, 9_000), (1_000_000, 100_000))
REPEATS = 3


def kernel(values: np.ndarray, published: np.ndarray, ids: np.ndarray, n_classes: int) -> float:
    """As a release is measured, both tie rules."""
    total = 0.0
    for records, own_ids, block in blocks_of_classes(ids, n_classes=n_classes):
        classes = sort_classes(values[records], own_ids, n_classes=block.stop - block.start)
        total += float(realised_links(classes, published[records])[0].sum())
    return total


def loop(values: np.ndarray, published: np.ndarray, ids: np.ndarray, n_classes: int) -> float:
    """One class after the other, with NumPy inside."""
    order = np.argsort(ids, kind="stable")
    ends = np.cumsum(np.bincount(ids, minlength=n_classes))
    total = 0.0
    for records in np.split(order, ends[:-1]):
        distinct, own, counts = np.unique(values[records], return_inverse=True, return_counts=True)
        middles = (distinct[1:] + distinct[:-1]) / 2
        nearest = np.searchsorted(middles, published[records])
        total += float(np.sum((nearest == own) / counts[own]))
    return total


def flat(values: np.ndarray, published: np.ndarray, ids: np.ndarray, n_classes: int) -> float:
    """All classes side by side on one line, far enough apart, and one search in it."""
    del n_classes
    low = min(values.min(), published.min()) - 1
    width = max(values.max(), published.max()) + 1 - low
    line = ids * width + (values - low)
    distinct, own, counts = np.unique(line, return_inverse=True, return_counts=True)
    middles = (distinct[1:] + distinct[:-1]) / 2
    same_class = np.floor(distinct[1:] / width) == np.floor(distinct[:-1] / width)
    middles[~same_class] = np.floor(distinct[1:][~same_class] / width) * width
    nearest = np.searchsorted(middles, ids * width + (published - low))
    return float(np.sum((nearest == own) / counts[own]))


def main() -> None:
    rng = np.random.default_rng(1)
    print("| records | classes | kernel | loop over classes | flat search | kernel / the faster | links agree to |")
    print("|---|---|---|---|---|---|---|")
    for n_records, n_classes in SHAPES:
        ids = rng.integers(0, n_classes, n_records)
        values = rng.normal(170, 8, n_records).round(1)
        published = (values + rng.laplace(0, 5, n_records)).round(1)
        seconds: dict[str, list[float]] = {}
        links: dict[str, float] = {}
        ways: dict[str, Callable[..., float]] = {"kernel": kernel, "loop": loop, "flat": flat}
        for _ in range(REPEATS):
            for name, way in ways.items():
                start = time.perf_counter()
                links[name] = way(values, published, ids, n_classes)
                seconds.setdefault(name, []).append(time.perf_counter() - start)
        medians = {name: statistics.median(times) for name, times in seconds.items()}
        apart = max(abs(found / links["kernel"] - 1) for found in links.values())
        print(
            f"| {n_records:,} | {n_classes:,} | {medians['kernel']:.2f} s | {medians['loop']:.2f} s | {medians['flat']:.2f} s | "
            f"{medians['kernel'] / min(medians['loop'], medians['flat']):.2f} | {apart:.1%} |",
            flush=True,
        )
    print()
    print("The simple ways count a value half-way between two originals for one of them; the kernel shares it.")


if __name__ == "__main__":
    main()
