# SPDX-License-Identifier: Apache-2.0
"""A data set of the paper, read and counted once for every k, ε and algorithm, and its classes about to get noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from kepsilon import AnonymisationError, Policy, Prediction, explore
from kepsilon.count import Counted, read_and_count
from kepsilon.engines.arrow.tables import table_from
from kepsilon.engines.choose import local_engine
from kepsilon.engines.local.columns import LocalColumns
from kepsilon.engines.protocol import Batch
from kepsilon.evaluate.expectations import Expectations
from kepsilon.json_values import Json
from kepsilon.kanonymise.algorithms import KAnonymised, for_every_k
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.perturb.mechanisms.laplace import perturb
from kepsilon.policy.roles import fraction
from kepsilon.predict.noise_ranges import NoiseRanges
from kepsilon.predict.outlook import expect_batch
from kepsilon.randomness import ByteSource, unsafe_seeded_bytes
from kepsilon.reproduce.data.data_sets import RESOLUTION, DataSet
from kepsilon.reproduce.scope import Scope
from kepsilon.stopwatch import Stopwatch, ignore_step
from kepsilon.table.arrays import FloatArray, IntArray
from kepsilon.table.classes import Recoding


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedData:
    """A data set, the policy document it was counted with, and the count."""

    data: DataSet
    document: Mapping[str, Any]
    """The data set's policy document, or what an experiment made of it."""
    counted: Counted

    @property
    def values(self) -> FloatArray:
        """The ε-quasi of every record, in the order of the input."""
        return np.asarray(self.data.columns[self.data.epsilon_quasi], dtype=np.float64)

    def policy(self, **changes: Any) -> Policy:
        return _policy(self.document, **changes)

    def heading(self, algorithm: str) -> Json:
        """The entries that every measurement begins with."""
        about = {"data_set": self.data.name, "title": self.data.title, "is_stand_in": self.data.is_stand_in}
        return {**about, "algorithm": algorithm}

    def partitions(self, algorithm: str, ks: Sequence[int]) -> dict[int, KAnonymised]:
        """The classes by k; the paper's set-up can be met for every one of its k, so a refusal is raised."""
        found = for_every_k(self.counted.table, self.policy(algorithm=algorithm), ks=ks)
        for partition in found.values():
            if isinstance(partition, AnonymisationError):
                raise partition
        return {k: partition for k, partition in found.items() if isinstance(partition, KAnonymised)}

    def batch(self, recoding: Recoding) -> Batch:
        """The released records of a partition, all together and in the order of their classes."""
        found = list(self.counted.columns.preview(recoding).each(lambda own: own))
        batches = [own for own in found if isinstance(own, Batch)]
        if len(batches) < len(found):
            raise TypeError("the local engine holds all records")
        return Batch(
            classes=slice(0, recoding.n_classes),
            class_ids=np.concatenate([own.class_ids + np.int32(own.classes.start) for own in batches]),
            values=np.concatenate([own.values for own in batches]),
        )

    def class_ids(self, recoding: Recoding) -> IntArray:
        """Class id of every counted record in the order of the input, or SUPPRESSED."""
        return recoding.class_of.astype(np.int32, copy=False)[self.combinations()]

    def combinations(self) -> IntArray:
        """Position of every counted record's combination in the frequency table, in the order of the input."""
        if not isinstance(self.counted.columns, LocalColumns):
            raise TypeError("the local engine holds all records")
        return self.counted.columns.combinations

    def noisy_classes(self, partition: KAnonymised, policy: Policy) -> NoisyClasses:
        """The classes of a partition with what the policy's noise leads to expect."""
        ranges, expectations = expect_batch(self.batch(partition.recoding), policy, mechanism_of(policy))
        precisions = tuple(fraction(attribute.precision) for attribute in policy.epsilon_quasis.values())
        return NoisyClasses(ranges=ranges, expectations=expectations, precisions=precisions)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyClasses:
    """The classes of one k and algorithm, about to get noise."""

    ranges: NoiseRanges
    expectations: Expectations
    precisions: tuple[Fraction, ...]

    @property
    def values(self) -> FloatArray:
        """The first ε-quasi of the released records; heights and weights are above 0."""
        values: FloatArray = self.ranges.values[:, 0]
        return values

    @property
    def widths(self) -> FloatArray:
        """R of the first ε-quasi by released record."""
        widths: FloatArray = self.ranges.widths[self.ranges.class_ids, 0]
        return widths

    def error(self, epsilon: float) -> float:
        """The mean relative error to expect, Paper Eq. (8)."""
        return float(np.mean(self.widths / self.values)) / epsilon

    def draw(self, epsilon: float, source: ByteSource) -> FloatArray:
        """Values that one release would publish of the first ε-quasi, by released record."""
        published = perturb(
            self.ranges.values,
            self.ranges.class_ids,
            self.ranges.low,
            self.ranges.high,
            epsilon=fraction(epsilon),
            precisions=self.precisions,
            domains=[None] * len(self.precisions),
            source=source,
        )
        drawn: FloatArray = published[:, 0]
        return drawn

    def as_one_class(self, values: FloatArray) -> NoisyClasses:
        """The records as one class, with the noise that the range of all these values asks for."""
        low, high = (np.array([[end]]) for end in (values.min(), values.max()))
        ranges = replace(self.ranges, class_ids=np.zeros_like(self.ranges.class_ids), low=low, high=high)
        return replace(self, ranges=ranges)

    def by_class(self) -> NoisyClasses:
        """The records ordered by class, so that what is looked up for those of one class lies close together."""
        order = np.argsort(self.ranges.class_ids, kind="stable")
        own = self.ranges
        return replace(self, ranges=replace(own, values=own.values[order], class_ids=own.class_ids[order]))


def count_data(data: DataSet, *, document: Mapping[str, Any] | None = None) -> CountedData:
    """Reads and counts with the data set's own policy document, or another for the same columns."""
    document = data.policy if document is None else document
    counted = read_and_count(
        table_from(data.columns), _policy(document), engine=local_engine(), clock=Stopwatch(ignore_step)
    )
    return CountedData(data=data, document=document, counted=counted)


def predictions(
    data: DataSet,
    document: Mapping[str, Any],
    algorithm: str,
    ks: Sequence[int],
    epsilons: Sequence[float] = (1,),
    **changes: Any,
) -> dict[tuple[int, float], Prediction]:
    """What a policy document makes of a data set, by k and ε, before any noise is drawn."""
    policy = _policy(document, algorithm=algorithm, **changes)
    grid = explore(table_from(data.columns), policy, k=ks, epsilon=epsilons, algorithm=[algorithm])
    return {
        (cell.k, epsilons[0] if cell.epsilon is None else cell.epsilon): cell.prediction
        for cell in grid.cells
        if cell.prediction is not None
    }


def with_extra_k_quasi(data: DataSet) -> Mapping[str, Any]:
    """The policy document with the ε-quasi made a k-quasi of eight levels; Mondrian cuts it as the number it is."""
    extra = {"role": "k-quasi", "hierarchy": data.extra, "step": RESOLUTION}
    return {**data.policy, "attributes": {**data.policy["attributes"], data.epsilon_quasi: extra}}


def noise_source(scope: Scope, *purpose: object) -> ByteSource:
    """Bytes that are the same whenever the same thing is measured, and different for different things."""
    return unsafe_seeded_bytes(int.from_bytes(" ".join(map(str, (scope.seed, *purpose))).encode(), "big"))


def _policy(document: Mapping[str, Any], **changes: Any) -> Policy:
    """k, ε and algorithm vary, so the document has none; those not asked for do not matter."""
    return Policy.from_dict({"k": 2, "epsilon": 1, "algorithm": "ola", **document, **changes})
