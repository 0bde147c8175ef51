# SPDX-License-Identifier: Apache-2.0
"""Makes the predictions of `check`, `explore` and `anonymise` from classes, whatever engine holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kepsilon.count import Counted
from kepsilon.engines.protocol import Preview
from kepsilon.errors import Problem
from kepsilon.evaluate.confident_k.confident_k import ConfidentK
from kepsilon.evaluate.error.small_noise import OFTEN, unmoved
from kepsilon.evaluate.expectations import NoiseSetting
from kepsilon.evaluate.homogeneity import Homogeneity
from kepsilon.evaluate.linking.attackers import (
    Attacker,
    headline_of,
    known_by_class,
    known_by_class_of_persons,
    known_by_joining,
    known_by_matching,
    known_by_quasis,
)
from kepsilon.evaluate.linking.joined_records import JoinedLinks
from kepsilon.evaluate.outliers import WITHIN, OutlierSums
from kepsilon.evaluate.survival.measure import foreseen
from kepsilon.evaluate.tally import Expected
from kepsilon.kanonymise.algorithms import KAnonymised
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction
from kepsilon.predict.averaged_outlook import outlook_of_averages
from kepsilon.predict.expected_error import distortion_of, expected_error_of, goes_as_inverse
from kepsilon.predict.group_summary import GroupSummary
from kepsilon.predict.judge import verdict_on_release, verdicts_on
from kepsilon.predict.kept_columns import kept_columns_of, leaks, notes_on_kept_columns
from kepsilon.predict.losses import losses_of
from kepsilon.predict.outlook import Outlook, outlook_of
from kepsilon.predict.persons_in_classes import persons_of
from kepsilon.predict.prediction import (
    ClassSummary,
    ExpectedRisk,
    ExpectedSuppression,
    Losses,
    OutlierRecovery,
    PredictedRecords,
    Prediction,
    SmallNoise,
)
from kepsilon.predict.recheck import recheck_of
from kepsilon.predict.verdicts import share_of_spread
from kepsilon.predict.warnings import (
    warnings_about_agreement,
    warnings_about_classes,
    warnings_about_labels,
    warnings_about_namesakes,
    warnings_about_search,
    warnings_about_useless_attributes,
)
from kepsilon.predict.whole_records import (
    WholeLook,
    WholeTable,
    homogeneity_of,
    look_at_whole_records,
    who_knows_more,
    who_works_out,
)
from kepsilon.table.classes import Recoding
from kepsilon.threads import begun


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """Predictions for several ε, and the outlook on the classes that they came from, which drawing needs."""

    outlook: Outlook
    predictions: tuple[Prediction, ...]
    """One for each ε, in the order in which they were asked for."""
    risk_beside: tuple[tuple[float, float], ...] = ()
    """Other ε, with the share of records that whoever knows the quasis, and uses no kept column, would link at each."""
    look: WholeLook | None = None
    """Whole records of some classes; None where nobody asked for them and there is no kept column."""

    def leaks(self, policy: Policy) -> list[Problem]:
        """A problem for each kept column that gives people away, unless the policy accepts that."""
        return (
            []
            if self.look is None
            else list(leaks(self.prediction.kept_columns, self.look.found, policy, measured_on=self.look.in_words))
        )

    @property
    def prediction(self) -> Prediction:
        """The first prediction, which is the only one unless several ε were asked for."""
        return self.predictions[0]


def predict(
    preview: Preview,
    partition: KAnonymised,
    counted: Counted,
    policy: Policy,
    *,
    epsilons: Sequence[float] | None = None,
    beside: Sequence[float] = (),
    look: WholeLook | None = None,
    table: WholeTable | None = None,
    loss: Losses | None = None,
    all_attackers: bool = True,
) -> Predicted:
    """Predictions of a policy for some classes, at its own ε or at each of several, from one pass over the records.

    `partition` says how the classes came about, and `preview` holds their records. `beside` are other ε, at which only the
    linking risk is wanted. `look` holds whole records of this partition, `table` those of all partitions, and `loss` what this
    partition loses, if they were looked at before. Without `all_attackers`, attackers who know kept columns too are left
    out, which takes less time; the headline does not depend on them.
    """
    asked = [policy.stated_epsilon] if epsilons is None else list(epsilons)
    confident = ConfidentK.asked_by(policy)
    settings: list[NoiseSetting] = [(_of_a_record(policy, epsilon), confident) for epsilon in asked]
    recheck = recheck_of(policy, counted.table)
    is_looked_at = look is None and (policy.kept or all_attackers)

    def looked() -> WholeLook | None:
        return look_at_whole_records(partition.recoding, counted, policy, table=table) if is_looked_at else look

    with begun(looked, at_once=counted.columns.are_in_memory) as found_look:
        if policy.averages is not None:
            outlook = outlook_of_averages(preview, policy, [epsilon for epsilon, _ in settings], again=recheck)
        else:
            own_beside = [_of_a_record(policy, epsilon) for epsilon in beside]
            outlook = outlook_of(preview, policy, settings, beside=own_beside, recheck=recheck)
        look = found_look()
    loss = loss or losses_of(partition, counted, policy)
    about_labels = (
        *warnings_about_search(loss),
        *warnings_about_labels(partition.recoding, counted.table, policy),
    )
    agreeing = {} if look is None else homogeneity_of(look, policy)
    return Predicted(
        outlook=outlook,
        predictions=tuple(
            _prediction(
                partition,
                expected,
                outlook,
                counted,
                policy,
                joined=joined,
                epsilon=epsilon,
                loss=loss,
                warnings=about_labels,
                look=look,
                agreeing=agreeing,
                all_attackers=all_attackers,
            )
            for epsilon, expected, joined in zip(
                asked, outlook.expected, outlook.joined or [None] * len(asked), strict=False
            )
        ),
        risk_beside=tuple(
            (epsilon, links.fair.total / outlook.expected[0].n_records)
            for epsilon, links in zip(beside, outlook.links_beside, strict=True)
        ),
        look=look,
    )


def _prediction(
    partition: KAnonymised,
    expected: Expected,
    outlook: Outlook,
    counted: Counted,
    policy: Policy,
    *,
    joined: JoinedLinks | None,
    epsilon: float,
    loss: Losses,
    warnings: tuple[Problem, ...],
    look: WholeLook | None,
    agreeing: Mapping[str, Homogeneity],
    all_attackers: bool,
) -> Prediction:
    """The prediction at one ε; `warnings` are those that do not depend on it, nor does how far classes are `agreeing`.

    `joined` is what whoever joins records with equal noisy values gains; None where nobody can.
    """
    names, recoding = counted.roles.k_quasis, partition.recoding
    n = expected.n_records
    small_noise = (
        {} if outlook.groups else _small_noise(outlook, recoding, policy, epsilon=_of_a_record(policy, epsilon))
    )
    outliers = {name: _outliers(found) for name, found in outlook.outliers.items()}
    attackers = tuple(
        _attackers(
            recoding,
            expected,
            outlook,
            policy,
            joined=joined,
            epsilon=_of_a_record(policy, epsilon),
            look=look,
            all_attackers=all_attackers,
        )
    )
    kept_columns = {}
    about_kept: tuple[Problem, ...] = ()
    if look is not None:
        kept_columns = kept_columns_of(look.found, policy, without=expected.links.fair.total / n)
        about_kept = tuple(notes_on_kept_columns(kept_columns, policy, measured_on=look.in_words))
    errors_in_units = foreseen(expected.errors, outlook.errors_of_constant, k=policy.k)
    survives = dict(zip(policy.epsilon_quasis, errors_in_units, strict=True))
    shares = [share_of_spread(own, spread) for own, spread in zip(expected.errors, outlook.spreads, strict=True)]
    verdicts = verdicts_on(recoding, counted, policy, loss=loss, survives=survives, shares=shares)
    persons = persons_of(recoding, counted)
    linking_risk = ExpectedRisk(
        headline=headline_of(attackers),
        fair=expected.links.fair.per(n),
        paper_ties=expected.links.paper.per(n),
        largest_possible=expected.largest_possible,
        largest_possible_by_matching=_largest_by_matching(expected, joined),
    )
    return Prediction(
        # One pass over the classes serves several ε, and the policy states only one of them.
        verdict=verdict_on_release(
            policy.model_copy(update={"epsilon": epsilon}) if policy.draws_noise else policy,
            recoding,
            outlook.groups,
            persons,
            linking_risk,
            verdicts,
        ),
        verdicts=verdicts,
        algorithm=policy.algorithm,
        k=policy.k,
        epsilon=epsilon if policy.draws_noise else None,
        records=PredictedRecords(
            read=counted.columns.n_records,
            suppressed_by_k=counted.n_staying - n,
            suppressed_missing=counted.left_out.missing,
            suppressed_unlisted=counted.left_out.unlisted,
            suppressed_by_cap=counted.left_out.by_cap,
        ),
        n_combinations=counted.table.n_combinations,
        classes=_class_summary(recoding),
        levels=None if recoding.levels is None else dict(zip(names, recoding.levels, strict=True)),
        loss=loss,
        error={
            name: expected_error_of(
                sums,
                policy,
                epsilon=float(epsilon),
                is_noise_alone=goes_as_inverse(policy, name, n_clipped=outlook.clipped.get(name, 0)),
                share=share,
            )
            for name, sums, share in zip(policy.epsilon_quasis, expected.errors, shares, strict=True)
        },
        survives=survives,
        linking_risk=linking_risk,
        attackers=attackers,
        kept_columns=kept_columns,
        homogeneity=agreeing,
        persons=persons,
        confident_k=_expected_suppression(expected, n_counted=counted.n_staying),
        groups=None if outlook.groups is None else GroupSummary.of(outlook.groups, policy),
        clipped=outlook.clipped,
        constant_classes=outlook.constant_classes,
        small_noise=small_noise,
        outliers=outliers,
        distortion=distortion_of(list(loss.ncp.by_attribute.values()), shares),
        warnings=(
            *warnings_about_namesakes(counted),
            *about_kept,
            *warnings_about_agreement(agreeing, of="class" if policy.averages is None else "group"),
            *warnings_about_useless_attributes(verdicts, policy),
            *warnings_about_classes(outlook, recoding, small_noise=small_noise, outliers=outliers, policy=policy),
            *warnings,
        ),
    )


def _of_a_record(policy: Policy, epsilon: float) -> float:
    """ε of the noise of one record, where the policy's ε is this one."""
    return float(policy.epsilon_of_a_record(epsilon))


def _attackers(
    recoding: Recoding,
    expected: Expected,
    outlook: Outlook,
    policy: Policy,
    *,
    joined: JoinedLinks | None,
    epsilon: float,
    look: WholeLook | None,
    all_attackers: bool,
) -> Iterator[Attacker]:
    """Who could link how many records at one ε, those who know least first."""
    n = expected.n_records
    if outlook.most_of_a_person is None:
        yield known_by_class(n_classes=recoding.n_classes, n_records=n, smallest=int(recoding.sizes.min()))
    else:
        yield known_by_class_of_persons(outlook.most_of_a_person, sizes=recoding.sizes)
    yield known_by_quasis(policy, risk=expected.links.fair.per(n), largest=expected.largest_possible)
    if policy.epsilon_quasis and policy.averages is None:
        yield known_by_matching(policy, largest=_largest_by_matching(expected, joined))
    if joined is not None:
        yield known_by_joining(policy, risk=joined.share, largest=joined.largest)
    if look is None:
        return
    formula = who_works_out(look, policy)
    if formula is not None:
        yield formula
    if all_attackers:
        yield from who_knows_more(look, outlook, policy, epsilon=epsilon)


def _largest_by_matching(expected: Expected, joined: JoinedLinks | None) -> float:
    """How sure whoever matches one to one can be of any record: a class, or, where records can be joined, persons."""
    by_class = expected.largest_possible_by_matching
    return by_class if joined is None else max(by_class, joined.largest_by_matching)


def _small_noise(outlook: Outlook, recoding: Recoding, policy: Policy, *, epsilon: float) -> dict[str, SmallNoise]:
    """Classes whose noise rounding often takes away, by ε-quasi; none for noise that is not exponential."""
    law = mechanism_of(policy).exponential
    if law is None:
        return {}
    n_active = np.count_nonzero(outlook.widths > 0, axis=1)
    found = {}
    for j, (name, attribute) in enumerate(policy.epsilon_quasis.items()):
        chances = unmoved(
            outlook.widths[:, j], n_active, epsilon=epsilon, precision=float(fraction(attribute.precision)), law=law
        )
        is_small = chances >= OFTEN
        found[name] = SmallNoise(
            classes=int(np.count_nonzero(is_small)),
            records=int(recoding.sizes[is_small].sum()),
            likeliest=float(chances.max(initial=0.0)),
        )
    return found


def _outliers(found: OutlierSums) -> OutlierRecovery:
    """The figures of one ε-quasi as they are shown."""
    return OutlierRecovery(
        within=WITHIN,
        classes=found.n_classes,
        standing_out=found.n_standing_out,
        recoverable=found.n_likely,
        likeliest=found.likeliest if found.n_standing_out else None,
    )


def _class_summary(recoding: Recoding) -> ClassSummary:
    """Number and sizes of the classes."""
    sizes = recoding.sizes
    return ClassSummary(
        count=len(sizes),
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
        mean=round(int(sizes.sum()) / len(sizes), 2),
    )


def _expected_suppression(expected: Expected, *, n_counted: int) -> ExpectedSuppression | None:
    """Expected suppression for confident k as shares; None where it is not asked for."""
    gone, n = expected.suppressed, expected.n_records
    if gone is None:
        return None
    return ExpectedSuppression(
        of_entering=gone.per(n),
        of_counted=gone.per(n_counted),
        total_expected=(n_counted - n + gone.total) / n_counted,
    )
