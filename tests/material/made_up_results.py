# SPDX-License-Identifier: Apache-2.0
"""What pages are made of in tests: a curator's record, pictures of made-up classes, and a grid by formula."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from kepsilon.evaluate.estimate import Estimate
from kepsilon.evaluate.label_counts import LabelCounts
from kepsilon.evaluate.linking.attackers import Attacker, headline_of
from kepsilon.evaluate.linking.reidentification import ChanceOfFinding, Reidentification
from kepsilon.evaluate.pictures import KQuasiPicture
from kepsilon.evaluate.survival.figures import (
    PERCENTS,
    Compared,
    ConstantError,
    ErrorInUnits,
    Followed,
    Quantiles,
    Relation,
    Survival,
)
from kepsilon.grid.cells import Cell
from kepsilon.grid.choice import Limits
from kepsilon.grid.grid import ExploredRecords, Grid
from kepsilon.pages.render import explore_page
from kepsilon.perturb.mechanisms.laplace import LAPLACE
from kepsilon.policy.policy import Policy
from kepsilon.predict.kept_columns import KeptColumn
from kepsilon.predict.prediction import (
    AttributeLosses,
    ClassSummary,
    ExpectedError,
    ExpectedRisk,
    ExpectedSuppression,
    Losses,
    OutlierRecovery,
    PredictedRecords,
    Prediction,
    SmallNoise,
)
from kepsilon.predict.verdicts import (
    Mark,
    ReleaseVerdict,
    seeded_promise,
    usefulness_of,
    verdict_on_labels,
    verdict_on_values,
)
from kepsilon.publish.policy_document import PolicyDocument
from kepsilon.publish.record import (
    ConfidentSuppression,
    ErrorOfNoise,
    Fates,
    Guarantee,
    LinkingRisk,
    LinksPerOriginal,
    Record,
)
from kepsilon.table.steps import Steps
from material.pictured_release import picture_release
from material.usefulness import NO_VERDICT
from oracles.noise import SEED

K = 10


def made_up_outliers(**figures):
    """Three classes of sixty have a value that stands out, and none is likely to be worked out."""
    made_up = {"within": 0.25, "classes": 60, "standing_out": 3, "recoverable": 0, "likeliest": 0.31}
    return OutlierRecovery(**{**made_up, **figures})


def made_up_attackers(*, quasis, risk, realised=None, largest=0.98, largest_by_matching=0.99):
    """Four attackers: by class, by quasis, by matching whole classes, and one who knows the diagnosis of everybody too."""
    known = " and ".join(filter(None, [", ".join(quasis[:-1]), *quasis[-1:]]))
    expected = Estimate(total=risk.total / 2), risk, None, Estimate(total=min(1.0, 2 * risk.total))
    words = (
        ("class", "the class of a person", "guesses among its records"),
        ("quasis", known, "takes the nearest original of the class"),
        ("matching", known, "matches a whole class one to one"),
        ("one column", f"{known} and diagnosis", "takes the nearest original of the class with the same diagnosis"),
    )
    return tuple(
        Attacker(
            name=name,
            knows=knows,
            how=how,
            needs_only_quasis=not knows.endswith("diagnosis"),
            risk=own,
            largest=most,
            realised=None if own is None else realised,
            column="diagnosis" if knows.endswith("diagnosis") else None,
        )
        for (name, knows, how), own, most in zip(words, expected, (0.1, largest, largest_by_matching, 1.0), strict=True)
    )


def made_up_labels():
    """Twenty labels of all kinds, one of them long, and some more that are too many to be shown."""
    named = [None, "*", "[20, 30)", "{Married-civ-spouse, Married-AF-spouse, Never-married, Widowed}"]
    labels = [*named, *(f"<b>place</b> {i}" for i in range(16))]
    shown = tuple((label, 900 - 40 * i) for i, label in enumerate(labels))
    return LabelCounts(shown=shown, n_more_labels=12, n_more_records=340)


def made_up_kept_column(**figures):
    """A kept column that tells nothing."""
    nothing = {"links_per_class": 1.02, "by": "bins", "share_linked": 0.033, "bits": 0.0, "unique": 0.01}
    words = {"verdict": "nothing", "reasons": (), "in_words": ()}
    return KeptColumn(**{**nothing, **words, **figures})


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
            KQuasiPicture(
                name=f"place {i}",
                n_levels=5,
                level=level,
                n_values_before=90,
                n_labels_after=9,
                loss=0.25,
                bits_lost=0.2,
                labels=made_up_labels(),
            )
            for i, level in enumerate(levels)
        ],
        risk_by_epsilon=[(e, 0.01 * (1 + e / 4)) for e in (0.05, 0.5, 1, 2, 4, 8, 16, 32)],
    )


def losses(share, k_quasis=(), *, dm_star=1):
    """Losses of which all measures agree."""
    own = AttributeLosses(by_attribute=dict.fromkeys(k_quasis, share), overall=share)
    return Losses(dm_star=dm_star, ncp=own, entropy_share=own, precision=own)


def made_up_record(*, names=("height",), k_quasis=("place 0", "place 1"), k=K, **changes):
    """A record as `anonymise` makes it, everything filled in."""
    attributes = {
        "name": {"role": "identifier"},
        **{name: {"role": "k-quasi", "hierarchy": {"type": "mask"}} for name in k_quasis},
        **{name: {"role": "epsilon-quasi", "range": "class", "precision": 0.1} for name in names},
        "diagnosis": {"role": "sensitive"},
    }
    policy = {"k": k, "epsilon": 8.0, "algorithm": "ola", "max_suppression": 0.05, "attributes": attributes}
    risk = Estimate(total=0.0234, variance=0.0005**2)
    attackers = made_up_attackers(quasis=(*k_quasis, *names), risk=risk, realised=0.023)
    verdicts = made_up_verdicts(k_quasis=k_quasis, names=names)
    record = Record(
        verdict=made_up_verdict(verdicts, quasis=(*k_quasis, *names), seeded=changes.get("seeded", False)),
        verdicts=verdicts,
        kepsilon_version="0.1.0",
        created="2026-01-01T00:00:00+00:00",
        policy=PolicyDocument(document=policy),
        guarantee=Guarantee(
            statement="Every combination occurs at least 10 times.\nThe promise is for one release.",
            k=k,
            epsilon=8.0,
            confidence=0.99,
            ranges=dict.fromkeys(names, "class"),
        ),
        seeded=False,
        engine="local",
        digest="sha256:" + 64 * "0",
        records=fates(
            read=2000,
            released=1850,
            suppressed_by_k=80,
            suppressed_by_confidence=30,
            suppressed_missing=25,
            suppressed_unlisted=15,
        ),
        clipped={},
        classes=ClassSummary(count=60, smallest=k, largest=40, mean=30.83),
        levels={name: 2 * i for i, name in enumerate(k_quasis)},
        loss=losses(0.25, k_quasis, dm_star=70000),
        constant_classes=dict.fromkeys(names, 0),
        small_noise={name: SmallNoise(classes=0, records=0, likeliest=0.02) for name in names},
        outliers={name: made_up_outliers() for name in names},
        error={name: made_up_error() for name in names},
        survives={name: made_up_survival(others=[own for own in names if own != name]) for name in names},
        linking_risk=LinkingRisk(
            predicted=ExpectedRisk(
                headline=headline_of(attackers),
                fair=risk,
                paper_ties=Estimate(total=0.03, variance=0.0005**2),
                largest_possible=0.98,
                largest_possible_by_matching=0.99,
            ),
            realised=0.023,
            realised_paper_ties=0.031,
            largest=0.97,
            over_half=0.012,
            over_nine_tenths=0.001,
            per_original=LinksPerOriginal(expected=0.021, realised=0.0205),
        ),
        attackers=attackers,
        kept_columns={"diagnosis": made_up_kept_column()},
        confident_k=made_up_suppression(expected=0.015, realised=0.016, total_expected=0.055, total_realised=0.056),
        reidentification=Reidentification(
            prosecutor=ChanceOfFinding(highest=0.1, average=0.032, share_at_highest=0.04),
            journalist=ChanceOfFinding(highest=0.1, average=0.03, share_at_highest=0.04),
            marketer=0.032,
        ),
        seconds={"read": 0.1, "perturb": 0.2},
    )
    return replace(record, **changes)


def made_up_verdict(verdicts, *, quasis, seeded=False):
    """The verdict on the made-up release."""
    promise = Mark(
        state="kept",
        sentence=f"Whoever knows {' and '.join(quasis[:2])} of a person finds at least 10 records that fit (k = 10).",
    )
    return ReleaseVerdict(
        promise=seeded_promise(promise) if seeded else promise,
        risk=Mark(state="no limit", sentence="No limit is stated."),
        usefulness=usefulness_of(verdicts),
    )


def made_up_verdicts(*, k_quasis, names):
    """Those that follow from the losses and the errors of `made_up_record`: labels are coarser, values are useless."""
    labels = verdict_on_labels(ncp=0.25, n_labels=9, n_values=90, leaves_out=True, accepted=None)
    values = verdict_on_values(error=32.2, of_constant=6.8, share=3.5, accepted=None)
    return {**dict.fromkeys(k_quasis, labels), **dict.fromkeys(names, values)}


def fates(*, read, released, **suppressed):
    """What became of the records; nobody was left out for a cause that is not named."""
    causes = ("suppressed_by_k", "suppressed_by_confidence", "suppressed_missing", "suppressed_unlisted")
    return Fates(read=read, released=released, **dict.fromkeys(causes, 0) | suppressed)


def made_up_survival(*, others=()):
    """Some statistics that survive, and some that do not."""
    before, after = (158.0, 167.0, 174.0, 180.5, 190.25), (99.5, 150.0, 174.25, 199.0, 247.0)
    return Survival(
        mean=Compared(before=173.9, after=174.4, usable=True),
        spread=Compared(before=9.7, after=44.1, usable=False),
        quantiles=Quantiles(
            by_percent={
                str(percent): Compared(before=one, after=other, usable=abs(one - other) < 1)
                for percent, one, other in zip(PERCENTS, before, after, strict=True)
            },
            measured_on="100,000 of 1,234,567 records in classes",
        ),
        error=ErrorInUnits(expected=32.2, realised=31.9, usable=False),
        error_of_best_constant=ConstantError(absolute=6.8, relative=0.039, range_relative=0.114),
        correlation=Followed(inside_classes=0.18, usable=False),
        relations={
            other: Relation(
                correlation=Compared(before=0.6 - i / 4, after=0.05, usable=False),
                slope=Compared(before=0.92 - i / 2, after=0.0586 if i else 0.91, usable=not i),
            )
            for i, other in enumerate([*others, "blood_pressure_in_the_morning", "pulse", "income", "debts"])
        },
    )


def made_up_error(*, expected=0.029, realised=0.0291):
    return ErrorOfNoise(
        predicted=ExpectedError(
            expected_relative=expected,
            range_relative=0.05,
            uniform_equivalent=None if expected is None else 2 * expected,
            epsilon_for_uniform_5_percent=None if expected is None else 8 * expected / 0.025,
            largest_share=None if expected is None else 0.004,
            zeros_left_out=0,
        ),
        realised_relative=realised,
        realised_range_relative=0.05,
    )


def made_up_suppression(*, expected, realised, total_expected, total_realised):
    """For confident k at 0.99, exact."""
    return ConfidentSuppression(
        confidence=0.99,
        rule="text",
        predicted=ExpectedSuppression(
            of_entering=Estimate(total=expected), of_counted=Estimate(total=expected), total_expected=total_expected
        ),
        realised=realised,
        total_realised=total_realised,
    )


PAPERS_K = (2, 5, 10, 20, 50, 100)
PAPERS_EPSILON = (0.05, 0.5, 1, 2, 4, 8, 16)


N_READ, N_MISSING = 32561, 121


def made_up_grid(
    *, ks=PAPERS_K, epsilons=PAPERS_EPSILON, algorithms=("ola", "mondrian"), names=("height",), confidence=0.99
):
    """A grid by formula and the choice from it: risk rises with ε and falls with k, error goes as 1/ε; one is refused."""
    cells = []
    for algorithm, k, epsilon in itertools.product(algorithms, ks, epsilons):
        setting = {"algorithm": algorithm, "k": k, "epsilon": epsilon}
        if (algorithm, k, epsilon) == (algorithms[0], ks[-1], epsilons[-1]):
            refused = "k cannot be met: in <b>every</b> hierarchy the top keeps 5 values."
            cells.append(Cell(**setting, prediction=None, refused=refused))
            continue
        part = 1 if algorithm == "ola" else 0.8
        error = 0.22 * (1 + 0.05 * math.log(k)) / epsilon * part
        prediction = made_up_prediction(
            **setting,
            n_classes=int(30000 / k**0.8),
            loss=0.1 * math.log(k) * part,
            error=dict.fromkeys(names, error),
            risk=min(1, 0.06 / k**0.7 * (1 + epsilon**0.8) * part),
            by_k=(0.01 + 0.006 * math.log(k)) * (part == 1),
            by_confidence=0.001 * epsilon**0.8 * math.log(k) if confidence else None,
        )
        cells.append(Cell(**setting, prediction=prediction))
    noisy = {"role": "epsilon-quasi", "range": "class", "precision": 0.1}
    policy = Policy.from_dict(
        {
            "k": 2,
            "epsilon": 1,
            "algorithm": "mondrian",
            "max_suppression": 0,
            **({"confidence": confidence} if confidence else {}),
            "attributes": {"a": noisy},
        }
    )
    records = ExploredRecords(read=N_READ, missing=N_MISSING, unlisted=0)
    grid = Grid(cells=tuple(cells), policy=policy, records=records, seconds={}, page=explore_page)
    choice = grid.choose(Limits(max_risk=0.05, max_suppression=0.05))
    return grid, replace(choice, why="The risk binds.")


def made_up_prediction(
    *,
    algorithm="ola",
    k=K,
    epsilon=1.0,
    n_classes=60,
    loss=0.2,
    error=MappingProxyType({}),
    risk=0.02,
    by_k=0.0,
    by_confidence=None,
    **changes,
):
    """A prediction of 32,440 counted records; `error` is by ε-quasi, and range-relative errors are a third of it."""
    counted = N_READ - N_MISSING
    largest, by_matching = min(1.0, 10 * risk), min(1.0, 12 * risk)
    attackers = made_up_attackers(
        quasis=("place", *error), risk=Estimate(total=risk), largest=largest, largest_by_matching=by_matching
    )
    prediction = Prediction(
        verdict=NO_VERDICT,
        verdicts={},
        algorithm=algorithm,
        k=k,
        epsilon=epsilon,
        records=PredictedRecords(
            read=N_READ, suppressed_by_k=round(by_k * counted), suppressed_missing=N_MISSING, suppressed_unlisted=0
        ),
        n_combinations=5000,
        classes=ClassSummary(count=n_classes, smallest=k, largest=40 * k, mean=counted / n_classes),
        levels=None,
        loss=losses(loss),
        error={name: made_up_error(expected=own).predicted for name, own in error.items()},
        linking_risk=ExpectedRisk(
            headline=headline_of(attackers),
            fair=Estimate(total=risk),
            paper_ties=Estimate(total=risk),
            largest_possible=largest,
            largest_possible_by_matching=by_matching,
        ),
        attackers=attackers,
        kept_columns={"diagnosis": made_up_kept_column()},
        confident_k=None
        if by_confidence is None
        else ExpectedSuppression(
            of_entering=Estimate(total=by_confidence),
            of_counted=Estimate(total=by_confidence),
            total_expected=by_k + by_confidence,
        ),
        clipped={},
        constant_classes={},
        small_noise={},
        outliers={},
        distortion=(loss + sum(error.values()) / 3 / max(1, len(error))) / 2,
    )
    return replace(prediction, **changes)
