# SPDX-License-Identifier: Apache-2.0
"""Measurements and claims that nobody measured, in the shape of real ones, for pages and figures to be made from."""

from __future__ import annotations

import math

KS = (2, 5, 10, 20, 50, 100)
EPSILONS = (0.05, 0.5, 1, 2, 4, 8, 16)
CONFIDENCES = ("0.7", "0.9", "0.99", "0.999", "0.9999", "0.99999")
TITLES = {"adult": "Adult", "florida": "Florida (stand-in)", "michigan": "Michigan (stand-in)"}
RECORDS = {"adult": 32_440, "florida": 134_791, "michigan": 72_825}
QUASIS = {
    "adult": ("birth_year", "gender", "race", "marital_status"),
    "florida": ("zip", "gender", "birth_year", "race"),
    "michigan": ("zip", "gender", "birth_year"),
}
EXTRA = {"adult": "height", "florida": "height", "michigan": "weight"}
ALGORITHMS = ("ola", "mondrian")
UNIFORM = 0.05


def spread(expected, *, off=0.004):
    return {"expected": expected, "mean": expected * (1 + off), "deviation": abs(expected) * 0.03}


def heading(data_set, algorithm=None):
    start = {"data_set": data_set, "title": TITLES[data_set], "is_stand_in": data_set != "adult"}
    return start if algorithm is None else {**start, "algorithm": algorithm}


def releases(data_set, algorithm, *, ks=KS, epsilons=EPSILONS, confidences=CONFIDENCES, runs=30):
    times = {"adult": 1.0, "florida": 1.1, "michigan": 6.0}[data_set]
    crowd = {"adult": 6.0, "florida": 1.0, "michigan": 1.3}[data_set] * (1.0 if algorithm == "mondrian" else 1.6)
    n = RECORDS[data_set]

    def cell(k, epsilon):
        error = times * 0.2 * k**0.06 / epsilon
        risk = min(0.9, (0.7 / (k * crowd)) * (1 + epsilon) ** 0.6)
        gone = min(0.9, 0.003 * epsilon * (1 + epsilon / 4) * (2 if algorithm == "mondrian" else 1) * k**0.1)
        return {
            "epsilon": epsilon,
            "error": spread(error),
            "risk": spread(risk),
            "risk_paper_ties": spread(min(1.0, 1.3 * risk)),
            "suppressed": {c: spread(gone * (1 + 0.4 * math.log10(1 / (1 - float(c)))) ** -1) for c in confidences},
        }

    return {
        **heading(data_set, algorithm),
        "n_counted": n,
        "runs": runs,
        "ks": [
            {
                "k": k,
                "n_classes": int(n / (k * crowd * 3)) + 1,
                "n_released": int(n * (1 - (0.0437 - 0.005 * i if algorithm == "ola" else 0))),
                "suppressed_by_k": 0.0437 - 0.005 * i if algorithm == "ola" else 0.0,
                "levels": [min(i, 3) for _ in QUASIS[data_set]] if algorithm == "ola" else None,
                "loss": dict.fromkeys(QUASIS[data_set], i / 10),
                "precision_loss": i / 10,
                "whole_error": times * 0.4,
                "cells": [cell(k, epsilon) for epsilon in epsilons],
            }
            for i, k in enumerate(ks)
        ],
    }


def dimensions(data_set, algorithm, *, ks=KS):
    names = QUASIS[data_set]
    has_levels = algorithm == "ola"

    def one(i, k):
        without, together = 0.1 * i, min(1.0, 0.15 + 0.13 * i)
        return {
            "k": k,
            "loss_without": without,
            "loss_with": together,
            "relative_gain": (together - without) / together,
            "losses_without": dict.fromkeys(names, without),
            "losses_with": dict.fromkeys(names, together),
            "extra_loss": 0.5 + 0.08 * i,
            "levels_without": dict.fromkeys(names, i // 2) if has_levels else None,
            "levels_with": dict.fromkeys((*names, EXTRA[data_set]), i // 2 + 1) if has_levels else None,
            "extra_error": 0.02 + 0.005 * i,
            "noise_error_at_1": 0.2,
            "epsilon_same_error": 8.0,
            "suppressed_without": 0.02 if has_levels else 0.0,
            "suppressed_with": 0.04 if has_levels else 0.0,
            "classes_without": 1000 // k,
            "classes_with": 2000 // k,
        }

    found = {**heading(data_set, algorithm), "extra": EXTRA[data_set], "ks": [one(i, k) for i, k in enumerate(ks)]}
    return found | ({"by_loss": {}} if has_levels else {})


def distributions(data_set, algorithm):
    at = [0.2 * i / 100 for i in range(101)]

    def cell(epsilon):
        small, large = 0.025 * 9 / epsilon, 0.05 * 9 / epsilon
        classes, whole = ([1 - math.exp(-x / scale) for x in at] for scale in (small, large))
        return {
            "epsilon": epsilon,
            "at": at,
            "per_class": classes,
            "whole_data": whole,
            "uniform": [min(x / UNIFORM, 1.0) for x in at],
            "per_class_runs": [0.999 * share for share in classes],
            "whole_data_runs": [0.999 * share for share in whole],
            "per_class_mean": small,
            "whole_data_mean": large,
        }

    return {
        **heading(data_set, algorithm),
        "k": 20,
        "epsilon_as_uniform": 9.3517,
        "uniform": UNIFORM,
        "uniform_error": UNIFORM / 2,
        "runs": 30,
        "cells": [cell(epsilon) for epsilon in (9.3517, 1.0, 8.0)],
        "ks": [],
    }


def uniform(data_set, algorithm):
    names = ("ruled_out", "risk", "over_half", "over_nine_tenths", "certain")
    figures = {"uniform_noise": (0.31, 0.052, 0.011, 0.004, 0.002), "class_noise": (0.0, 0.031, 0.001, 0.0, 0.0)}
    return {
        **heading(data_set, algorithm),
        "k": 20,
        "uniform": UNIFORM,
        "epsilon": 9.3517,
        "mean_error": UNIFORM / 2,
        "runs": 10,
        "disjoint_pairs": 0.2,
        **{
            noise: {
                "least_likelihood": 0.0,
                **dict(zip(names, shares, strict=True)),
                **{f"{name}_standard_error": 0.0004 for name in names},
                "ruled_out_expected": shares[0],
                "risk_expected": shares[1],
            }
            for noise, shares in figures.items()
        },
    }


def times(data_set, algorithm, *, ks=KS):
    is_ola = algorithm == "ola"

    def one(k):
        without = 0.05 + 0.01 / k
        together = without * (9.5 if is_ola else 1.2)
        return {
            "k": k,
            "seconds_with": together,
            "seconds_without": without,
            "ratio": together / without,
            "search_seconds_with": 0.4,
            "search_seconds_without": 0.02,
            "noise_seconds": 0.01,
            "search_ratio": 0.4 / 0.03,
            "nodes_counted_with": 90 if is_ola else None,
            "nodes_counted_without": 14 if is_ola else None,
        }

    plain = [{"k": k, "ratio": 12.5 if is_ola else 0.9} for k in ks]
    return {
        **heading(data_set, algorithm),
        "lattice_with": 480 if is_ola else None,
        "lattice_without": 60 if is_ola else None,
        "count_seconds_with": 0.08,
        "count_seconds_without": 0.01,
        "combinations_with": 30_000,
        "combinations_without": 1_900,
        "ks": [one(k) for k in ks],
        **({"regrouping": {"ks": plain}} if is_ola else {"by_record": plain}),
    }


def additions(data_set, algorithm, *, epsilons=EPSILONS):
    names = {
        "class": ("range of the class (the paper)", 1.0),
        "coarse": ("range of the class, widened to a public grid", 1.3),
        "declared": ("declared bounds", 2.2),
        "several": ("two attributes at once", 2.8),
    }

    def cell(name, factor, epsilon):
        error = {EXTRA[data_set]: 0.2 * factor / epsilon} | ({"other": 0.5 / epsilon} if name == "several" else {})
        simulated = 0.0005 if name == "several" else 0.0
        return {
            "epsilon": epsilon,
            "error": error,
            "risk": 0.02 / factor * (1 + epsilon) ** 0.6,
            "risk_standard_error": simulated,
            "suppressed": min(0.9, 0.003 * epsilon / factor),
            "suppressed_standard_error": simulated,
        }

    return {
        **heading(data_set, algorithm),
        "k": 20,
        "variants": [
            {"name": name, "title": title, "cells": [cell(name, factor, epsilon) for epsilon in epsilons]}
            for name, (title, factor) in names.items()
        ],
    }


def choice(data_set):
    answer = {
        "algorithm": "ola",
        "k": 20,
        "epsilon": 8,
        "risk": 0.029,
        "suppression": 0.028,
        "error": 0.029,
        "distortion": 0.21,
    }
    return {
        **heading(data_set),
        "limits": {"max_risk": 0.05, "max_suppression": 0.05},
        "confidence": 0.99,
        "answer": answer if data_set != "michigan" else None,
        "words": "Take OLA with k = 20 and ε = 8: 2.9 % of records are linked and 2.8 % left out.",
        "by_algorithm": {"ola": answer, "mondrian": None},
    }


BY_ALGORITHM = {
    "releases": releases,
    "dimensions": dimensions,
    "distributions": distributions,
    "uniform": uniform,
    "times": times,
    "additions": additions,
}


def made_up_measurements(data_sets=tuple(TITLES), algorithms=ALGORITHMS):
    found = {
        f"{task}-{data_set}-{algorithm}": make(data_set, algorithm)
        for task, make in BY_ALGORITHM.items()
        for data_set in data_sets
        for algorithm in algorithms
    }
    return found | {f"choice-{data_set}": choice(data_set) for data_set in data_sets}


SENTENCES = {
    1: "The error is below 5 % for every ε of 8 or more.",
    2: "The error goes as 1/ε.",
    3: "The error grows with k, most of all with Mondrian.",
    4: "Linking risk rises with ε and falls with k.",
    5: "A risk below 5 % is attainable in every set-up.",
    6: "Large k stays below or close to 5 %, even for large ε.",
    7: "Florida and Michigan at k = 2 and 5 exceed 10 %.",
    8: "Risk can exceed 1/k.",
    9: "At a confidence of 99 % and small ε fewer than 2 % are left out, whatever k.",
    10: "OLA's and confident k's suppression together stay within 5 % for small ε in most cases.",
    11: "Greater confidence leaves out fewer records.",
    12: "Noise for the whole data set is consistently worse than noise per class.",
    13: "Uniform noise has finite support and does not make values indistinguishable.",
    14: "With OLA and the extra quasi, the loss of the others about doubles on Adult at k = 20.",
    15: "With Mondrian, leaving out the extra quasi gains 4 to 10 % on the others.",
    16: "OLA is 14 to 32 times faster without the extra quasi; Mondrian is slower.",
    17: "OLA's suppression is that of the paper's table.",
    18: "Mondrian leaves out more than OLA for confident k.",
    19: "With Mondrian larger ε stays within 5 % left out.",
    20: "Guarantees are at least as strong as those of either model.",
}
FAILS = {
    (1, "michigan"),
    (3, "florida"),
    (9, "michigan"),
    (14, "adult"),
    (15, "florida"),
    (16, "adult"),
    (16, "florida"),
}


def made_up_claims(data_sets=tuple(TITLES)):
    """As in claims.json; some are not held, and say why."""
    claims = []
    for number, sentence in SENTENCES.items():
        for data_set in (None,) if number == 20 else data_sets:
            if number == 7 and data_set == "adult":
                continue
            held = (number, data_set) not in FAILS and number != 20
            claims.append(
                {
                    "id": number,
                    "data_set": data_set,
                    "title": TITLES.get(data_set),
                    "is_stand_in": data_set in ("florida", "michigan"),
                    "sentence": sentence,
                    "section": "VII-A",
                    "bound": "below 5 % in every cell with ε ≥ 8",
                    "measured": f"largest {number}.{len(data_set or 'all')} % (Mondrian, k = 100, ε = 8)",
                    "figure": 3,
                    "held": held,
                    "why": None if held else WHY.format(number, data_set),
                    "experiment": []
                    if held
                    else [{"words": "spread of the class ranges", "value": 2.25, "unit": "times"}],
                }
            )
    return {
        "kepsilon_version": "0.1.0",
        "created": "2026-11-16T07:00:00+00:00",
        "setting": {"ks": list(KS), "epsilons": list(EPSILONS), "runs": 30, "seed": 1, "is_quick": False},
        "claims": claims,
    }


WHY = (
    "Reason {} on {}: weights are far more spread than heights, so that the range of a class is a larger part of its "
    "values, and noise in proportion to the range is a larger part of them too."
)


def made_up_run():
    """As in run.json."""
    setting = made_up_claims()["setting"]
    return {
        "about": {"setting": setting, "data_sets": list(TITLES), "adult": "ab" * 32, "code": "0123456789abcdef"},
        "versions": {"kepsilon": "0.1.0", "python": "3.11.9", "numpy": "2.0.1", "system": "Linux x86_64"},
        "seconds": dict.fromkeys(made_up_measurements(), 1.5),
        "created": "2026-11-16T07:00:00+00:00",
        "wall_seconds": 312.4,
        "n_workers": 2,
    }
