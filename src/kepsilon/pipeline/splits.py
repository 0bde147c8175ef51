# SPDX-License-Identifier: Apache-2.0
"""Predicts what every split of the numeric quasis into k-quasis and ε-quasis would cost, at one k and ε.

The paper asks which attributes should be ε-quasis. Here the question is put to the curator's data: every split is a policy
of its own, and its figures are those that `check` finds for that policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from kepsilon.classify import classify
from kepsilon.count import read_and_count
from kepsilon.engines.arrow.profile import ColumnProfile, profile_numbers
from kepsilon.engines.protocol import Engine
from kepsilon.errors import AnonymisationError, DataError, MemoryLimitError, PolicyError, Problem, UnsatisfiableError
from kepsilon.grid.cells import Cell
from kepsilon.grid.grid import ExploredRecords
from kepsilon.grid.splits import Split
from kepsilon.json_values import Json
from kepsilon.kanonymise.algorithms import k_anonymise
from kepsilon.policy.numbers import parse_number
from kepsilon.policy.policy import Policy
from kepsilon.policy.reading import read_values
from kepsilon.policy.roles import EpsilonQuasi, KQuasi
from kepsilon.predict.predict import predict
from kepsilon.predict.warnings import warnings_about_namesakes, warnings_about_reading
from kepsilon.propose.switched import as_epsilon_quasi, as_k_quasi, can_switch
from kepsilon.stopwatch import Stopwatch

MOST_COMBINED = 4
"""With at most this many numeric quasis every combination of roles is a split; with more, one attribute changes at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSplits:
    """The cells of all splits, that of the policy itself first, and what is worth knowing about them."""

    cells: tuple[Cell, ...]
    records: ExploredRecords
    """Records read, and left out before anything is counted, with the policy's own split."""
    warnings: tuple[Problem, ...]


def compare_splits(
    source: object, policy: Policy, settings: Mapping[str, Any], *, engine: Engine, clock: Stopwatch
) -> ComparedSplits:
    """What every split of the policy would be; `settings` are the top-level keys that all splits have, such as k.

    An error of the policy's own split is raised, as `check` would raise it; one of another split is its refusal.
    """
    numeric = numeric_quasis(policy)
    if not numeric:
        raise PolicyError(
            Problem(
                where="split",
                what="no quasi is numeric: there is no epsilon-quasi, and no k-quasi with a step or intervals.",
            )
        )
    with clock.step("look at numbers"):
        numbers = _numbers(source, policy, numeric, engine=engine)
    fixed = [name for name in numeric if not can_switch(numbers[name])]
    free = [name for name in numeric if name not in fixed]
    notes = [
        Problem(
            where=f"attributes.{name}",
            what="does not hold different numbers that both intervals and noise can handle, so it keeps its role in every split.",
        )
        for name in fixed
    ]
    if len(free) > MOST_COMBINED:
        what = (
            f"{len(free)} numeric quasis have 2^{len(free)} splits: only those are compared that change one attribute."
        )
        notes.append(Problem(where="split", what=what))
    switched = {name: _other_role(policy, name, numbers[name]) for name in free}
    cells: list[Cell] = []
    found: _Own | None = None
    splits = [*_splits(policy, free, switched, settings)]
    for split in splits:
        with clock.step("compare splits", part=(len(cells), len(splits), "splits")):
            cell, own = _cell(source, policy, split, engine=engine, clock=clock)
            cells.append(cell)
            found = found or own
    if found is None:
        raise RuntimeError("the policy's own split comes first, and is counted or raises")
    return ComparedSplits(cells=tuple(cells), records=found.records, warnings=(*found.warnings, *notes))


def shared_settings(policy: Policy, given: Mapping[str, Any]) -> Json:
    """The top-level keys that all splits have in place of the policy's; PolicyError for what splits cannot be compared at.

    `given` holds what the caller asked for, None where nothing: one value each, alone or in a list.
    """
    one = {key: _only(key, value) for key, value in given.items()}
    own = {"k": policy.k, "algorithm": policy.algorithm, "epsilon": policy.epsilon}
    asked = {key: value for key, value in one.items() if value is not None and key != "group"}
    settings = {key: value for key, value in {**own, **asked}.items() if value is not None}
    if one["group"] is not None:
        if not isinstance(one["group"], int):
            raise PolicyError(Problem(where="group", what="should be a whole number."))
        if one["epsilon"] is not None and not (policy.averages is not None and policy.averages.noise):
            what = "epsilon and group cannot be given together: splits are compared with noise or with averages, not with both."
            raise PolicyError(Problem(where="split", what=what))
        settings |= policy.averaging(one["group"])
    elif one["epsilon"] is not None and policy.averages is not None and not policy.averages.noise:
        settings["averages"] = None
    is_averaged = settings.get("averages", policy.averages) is not None
    if not is_averaged and settings.get("epsilon", policy.epsilon) is None:
        raise PolicyError(
            Problem(
                where="epsilon",
                what="splits have epsilon-quasis, and noise is drawn for them; neither the policy nor the caller states epsilon.",
                fix="Give one, such as --epsilon 2, or compare averages with --group.",
            )
        )
    return settings


def _only(key: str, given: object) -> object:
    """The one value that was given, or None; PolicyError where several were given."""
    if given is None or isinstance(given, int | float | str):
        return given
    values = list(given) if isinstance(given, Iterable) else [given]
    if len(values) != 1:
        what = (
            f"splits are compared at one {key}, and {len(values)} were given."
            if values
            else "no value is given to explore."
        )
        raise PolicyError(Problem(where=key, what=what, fix=f"Give one {key}, or leave it out to take the policy's."))
    only: object = values[0]
    return only


def numeric_quasis(policy: Policy) -> list[str]:
    """The quasis that are numbers, in the order of the policy: ε-quasis, and k-quasis that a step or intervals read as numbers."""
    return [
        name
        for name, own in policy.attributes.items()
        if isinstance(own, EpsilonQuasi) or (isinstance(own, KQuasi) and own.reads_numbers)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Own:
    """What is said once for all splits, found with the first."""

    records: ExploredRecords
    warnings: tuple[Problem, ...]


def _splits(
    policy: Policy, free: list[str], switched: Mapping[str, Json], settings: Mapping[str, Any]
) -> Iterator[Split]:
    """The policy's own split, then those that change one attribute, then those that change more."""
    most = len(free) if len(free) <= MOST_COMBINED else 1
    numeric = numeric_quasis(policy)
    for n_changed in range(most + 1):
        for names in combinations(free, n_changed):
            roles = {
                name: switched[name]["role"] if name in names else policy.attributes[name].role for name in numeric
            }
            noisy = tuple(name for name, role in roles.items() if role == "epsilon-quasi")
            own: Json = dict(settings)
            if not noisy:
                # Nothing is drawn, so settings about noise would be refused.
                lost = ("epsilon", "epsilon_per", "confidence", "confidence_rule", "averages")
                own |= dict.fromkeys(key for key in lost if key in own or getattr(policy, key, None) is not None)
            yield Split(
                k_quasis=tuple(name for name in numeric if name not in noisy),
                epsilon_quasis=noisy,
                switched={name: switched[name] for name in names},
                settings=own,
                others=tuple(name for name in policy.k_quasis if name not in numeric),
            )


def _cell(
    source: object, policy: Policy, split: Split, *, engine: Engine, clock: Stopwatch
) -> tuple[Cell, _Own | None]:
    """The cell of one split, by the path that `check` takes; with what is said once, where the split is the policy's own."""
    found: _Own | None = None
    asked = policy
    try:
        asked = policy.with_attributes(split.switched, **split.settings)
        split = replace(split, policy=asked)
        counted = read_and_count(source, asked, engine=engine, clock=clock)
    except (PolicyError, DataError, UnsatisfiableError, MemoryLimitError) as error:
        if split.is_own:
            raise
        return _refused(split, asked, error), None
    with closing(counted.columns):
        if split.is_own:
            left_out = counted.left_out
            found = _Own(
                records=ExploredRecords(
                    read=counted.columns.n_records,
                    missing=left_out.missing,
                    unlisted=left_out.unlisted,
                    by_cap=left_out.by_cap,
                ),
                warnings=(*warnings_about_namesakes(counted), *warnings_about_reading(counted, asked)),
            )
        try:
            partition = k_anonymise(counted.table, asked)
            preview = counted.columns.preview(partition.recoding)
            predicted = predict(preview, partition, counted, asked, all_attackers=False)
        except (PolicyError, UnsatisfiableError, MemoryLimitError) as error:
            return _refused(split, asked, error), found
    leaks = predicted.leaks(asked)
    if leaks:
        return _refused(split, asked, UnsatisfiableError(leaks)), found
    return replace(_empty(split, asked), prediction=predicted.prediction), found


def _refused(split: Split, policy: Policy, error: AnonymisationError) -> Cell:
    return replace(_empty(split, policy), refused="; ".join(problem.what for problem in error.problems))


def _empty(split: Split, policy: Policy) -> Cell:
    """The cell of a split without any figure."""
    return Cell(
        algorithm=policy.algorithm,
        k=policy.k,
        epsilon=policy.epsilon if policy.draws_noise else None,
        group=None if policy.averages is None else policy.averages.group,
        prediction=None,
        split=split,
    )


def _numbers(source: object, policy: Policy, names: list[str], *, engine: Engine) -> dict[str, ColumnProfile]:
    """Profiles of the numeric quasis; no other column is read."""
    as_numbers = {name: _counted_only(policy.attributes[name]) for name in names}
    others = {name: {"role": "identifier"} for name in policy.attributes if name not in names}
    opened = engine.open_source(source)
    reading = policy.with_attributes(
        {**as_numbers, **others},
        k=policy.k,
        algorithm="mondrian",
        **dict.fromkeys(("person", "epsilon_per", "max_records_per_person", "confidence", "averages")),
    )
    with closing(opened.read(classify(opened.column_names, reading, source=opened.name))) as columns:
        found = {}
        for name in names:
            distinct = columns.distinct(name)
            values, _ = read_values(
                distinct.values, policy.readings[name], is_typed=distinct.is_typed, wants_numbers=True
            )
            texts = {i: text.strip() for i, text in enumerate(values) if text and parse_number(text) is not None}
            counts = np.asarray(distinct.counts)[list(texts)].astype(np.int64)
            profile = profile_numbers(name, list(texts.values()), counts)
            n_missing = int(sum(distinct.counts[i] for i, text in enumerate(values) if not text))
            found[name] = replace(profile, n_records=profile.n_records + n_missing, n_null=n_missing)
    return found


def _counted_only(attribute: object) -> Json:
    """Settings with which the distinct numbers of a quasi can be asked for; nothing is cut on this step."""
    reading = getattr(attribute, "missing_values", None)
    return {"role": "k-quasi", "step": 1, **({} if reading is None else {"missing_values": list(reading)})}


def _other_role(policy: Policy, name: str, numbers: ColumnProfile) -> Json:
    """Settings of an attribute in its other role: proposed ones, and those of its own that both roles have."""
    attribute = policy.attributes[name]
    if isinstance(attribute, EpsilonQuasi):
        settings, others = as_k_quasi(numbers), set(KQuasi.model_fields)
    else:
        noisy = policy.epsilon_quasis.values()
        has_noise_on_averages = policy.averages is not None and policy.averages.noise
        is_declared = (
            has_noise_on_averages
            or policy.draws_once_per_person
            or (bool(noisy) and all(own.range_kind == "declared" for own in noisy))
        )
        settings = as_epsilon_quasi(numbers, is_declared=is_declared, has_missing=numbers.n_null > 0)
        stated = [own.mechanism for own in noisy if "mechanism" in own.model_fields_set]
        if policy.averages is None and stated:
            settings["mechanism"] = stated[0]  # all ε-quasis of a policy have one
        others = set(EpsilonQuasi.model_fields)
    written = attribute.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    shared = {key: own for key, own in written.items() if key in others and key not in settings}
    return {**settings, **shared}
