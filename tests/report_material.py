# SPDX-License-Identifier: Apache-2.0
"""What pages are made of in tests: a curator's record, pictures of made-up classes, and a grid by formula."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from kepsilon.evaluate.pictures import KQuasiPicture, picture_release
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.table.steps import Steps
from oracles.noise import SEED

K = 10


def made_up_pictures(*, names=("height",), k=K, n_classes=60, epsilon=8.0, seed=SEED, levels=(0, 2), values=None):
    """Pictures of classes of k to 40 records; `values` (n, d) may be given, and then are dealt out to the classes."""
    rng = np.random.default_rng(seed)
    if values is None:
        class_ids = np.repeat(np.arange(n_classes), rng.integers(k, 41, n_classes))
        values = rng.normal(170, 9, (len(class_ids), len(names))).round(1)
    else:
        class_ids = np.arange(len(values)) // k
        class_ids[class_ids == class_ids.max()] = max(class_ids.max() - 1, 0)
    n = class_ids.max() + 1
    low, high = (np.array([reduce(values[class_ids == c], axis=0) for c in range(n)]) for reduce in (np.min, np.max))
    ranges = high - low
    published = (values + rng.laplace(size=values.shape) * ranges[class_ids] / epsilon).round(1)
    return picture_release(
        k=k,
        names=names,
        values=values,
        published=[published[:, j] for j in range(len(names))],
        class_ids=class_ids,
        stays=np.ones(len(values), dtype=bool),
        mechanism=LAPLACE,
        low=low,
        high=high,
        epsilon=epsilon,
        steps=[Steps(precision=Fraction(1, 10))] * len(names),
        k_quasis=[
            KQuasiPicture(name=f"place {i}", n_levels=5, level=level, n_values_before=90, n_labels_after=9, loss=0.25)
            for i, level in enumerate(levels)
        ],
        risk_by_epsilon=[(e, 0.01 * (1 + e / 4)) for e in (0.05, 0.5, 1, 2, 4, 8, 16, 32)],
    )


def made_up_record(*, names=("height",), k_quasis=("place 0", "place 1"), k=K, **changes):
    """A record as `anonymise` writes it, everything filled in."""
    record = {
        "kepsilon_version": "0.1.0",
        "created": "2026-01-01T00:00:00+00:00",
        "policy": {
            "k": k,
            "epsilon": 8.0,
            "algorithm": "ola",
            "max_suppression": 0.05,
            "attributes": {
                "name": {"role": "identifier"},
                **{name: {"role": "k-quasi", "hierarchy": {"type": "mask"}} for name in k_quasis},
                **{name: {"role": "epsilon-quasi", "range": "class", "precision": 0.1} for name in names},
                "diagnosis": {"role": "sensitive"},
            },
        },
        "guarantee": {
            "statement": "Every combination occurs at least 10 times.\nThe promise is for one release.",
            "k": k,
            "epsilon": 8.0,
            "confidence": 0.99,
            "ranges": dict.fromkeys(names, "class"),
        },
        "seeded": False,
        "engine": "local",
        "digest": "sha256:" + 64 * "0",
        "records": {
            "read": 2000,
            "released": 1850,
            "suppressed_by_k": 80,
            "suppressed_by_confidence": 30,
            "suppressed_missing": 25,
            "suppressed_unlisted": 15,
        },
        "clipped": {},
        "classes": {"count": 60, "smallest": k, "largest": 40, "mean": 30.83},
        "levels": {name: 2 * i for i, name in enumerate(k_quasis)},
        "loss": {"dm*": 70000, "precision": {**dict.fromkeys(k_quasis, 0.25), "overall": 0.25}},
        "constant_classes": dict.fromkeys(names, 0),
        "error": {
            name: {
                "expected_relative": 0.029,
                "realised_relative": 0.0291,
                "range_relative": 0.05,
                "realised_range_relative": 0.05,
                "zeros_left_out": 0,
                "uniform_equivalent": 0.058,
            }
            for name in names
        },
        "linking_risk": {
            "expected": 0.0234,
            "realised": 0.023,
            "expected_paper_ties": 0.03,
            "realised_paper_ties": 0.031,
            "largest": 0.97,
            "over_half": 0.012,
            "over_nine_tenths": 0.001,
            "standard_error": 0.0005,
            "per_original": {"expected": 0.021, "realised": 0.0205},
        },
        "confident_k": {
            "confidence": 0.99,
            "rule": "text",
            "expected": 0.015,
            "realised": 0.016,
            "expected_standard_error": 0.0,
            "total_expected": 0.055,
            "total_realised": 0.056,
        },
        "reidentification": {
            "prosecutor": {"highest": 0.1, "average": 0.032, "share_at_highest": 0.04},
            "journalist": {"highest": 0.1, "average": 0.03, "share_at_highest": 0.04},
            "marketer": 0.032,
        },
        "seconds": {"read": 0.1, "perturb": 0.2},
    }
    return {**record, **changes}


PAPERS_K = (2, 5, 10, 20, 50, 100)
PAPERS_EPSILON = (0.05, 0.5, 1, 2, 4, 8, 16)


def made_up_grid(
    *, ks=PAPERS_K, epsilons=PAPERS_EPSILON, algorithms=("ola", "mondrian"), names=("height",), confidence=0.99
):
    """A grid by formula: risk rises with ε and falls with k, error goes as 1/ε; one cell is refused."""
    cells = []
    for algorithm, k, epsilon in itertools.product(algorithms, ks, epsilons):
        if (algorithm, k, epsilon) == (algorithms[0], ks[-1], epsilons[-1]):
            refused = "k cannot be met: in <b>every</b> hierarchy the top keeps 5 values."
            cells.append({"algorithm": algorithm, "k": k, "epsilon": epsilon, "refused": refused})
            continue
        part = 1 if algorithm == "ola" else 0.8
        risk, error = (
            min(1, 0.06 / k**0.7 * (1 + epsilon**0.8) * part),
            0.22 * (1 + 0.05 * math.log(k)) / epsilon * part,
        )
        by_k, by_confidence = (0.01 + 0.006 * math.log(k)) * (part == 1), 0.001 * epsilon**0.8 * math.log(k)
        loss = 0.1 * math.log(k) * part
        cells.append(
            {
                "algorithm": algorithm,
                "k": k,
                "epsilon": epsilon,
                "refused": None,
                "classes": int(30000 / k**0.8),
                "levels": None,
                "suppressed_by_k": by_k,
                "suppressed_by_confidence": by_confidence if confidence else None,
                "suppression": by_k + by_confidence,
                "precision_loss": loss,
                "loss": {},
                "dm*": 1,
                "error": {
                    name: {"expected_relative": error, "range_relative": error / 3, "zeros_left_out": 0}
                    for name in names
                },
                "linking_risk": risk,
                "linking_risk_standard_error": 0.0,
                "linking_risk_paper_ties": risk,
                "distortion": (loss + error / 3) / 2,
                "pareto": False,
                "within_limits": risk <= 0.05 and error <= 0.05,
            }
        )
    met = [cell for cell in cells if not cell["refused"]]
    aims = [tuple(cell[aim] for aim in ("distortion", "linking_risk", "suppression")) for cell in met]
    for cell, own in zip(met, aims, strict=True):
        cell["pareto"] = not any(
            other != own and all(a <= b for a, b in zip(other, own, strict=True)) for other in aims
        )
    good = [i for i, cell in enumerate(cells) if not cell["refused"] and cell["within_limits"]]
    return {
        "kepsilon_version": "0.1.0",
        "created": "2026-01-01T00:00:00+00:00",
        "records": {"read": 32561, "counted": 32440, "missing": 121, "unlisted": 0},
        "policy": {},
        "k": [*ks],
        "epsilon": [*epsilons],
        "algorithms": [*algorithms],
        "confidence": confidence,
        "limits": {"max_risk": 0.05, "max_suppression": 0.05, "max_error": None},
        "chosen": min(good, key=lambda i: cells[i]["distortion"]) if good else None,
        "why": "The risk binds.",
        "cells": cells,
    }
