# SPDX-License-Identifier: Apache-2.0
"""What the experiments beside the main grid share: how they begin, whose noise they draw, and the extra k-quasi."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from kepsilon.evaluate.expectations import Expectations
from kepsilon.json_values import Json
from kepsilon.kanonymise.algorithms import KAnonymised
from kepsilon.perturb.mechanisms import mechanism_of
from kepsilon.perturb.mechanisms.laplace import perturb
from kepsilon.policy.policy import Policy
from kepsilon.policy.roles import fraction
from kepsilon.predict.noise_ranges import NoiseRanges
from kepsilon.predict.outlook import expect_batch
from kepsilon.randomness import ByteSource, unsafe_seeded_bytes
from kepsilon.reproduce.data.data_sets import DataSet
from kepsilon.reproduce.experiments.counted_data import CountedData
from kepsilon.reproduce.setting import Setting
from kepsilon.table.arrays import FloatArray


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
        """What one release would publish of the first ε-quasi, by released record."""
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
        """The same records with the noise that the range of all these values asks for."""
        low, high = (np.array([[end]]) for end in (values.min(), values.max()))
        ranges = replace(self.ranges, class_ids=np.zeros_like(self.ranges.class_ids), low=low, high=high)
        return replace(self, ranges=ranges)


def look_at(data: CountedData, partition: KAnonymised, policy: Policy) -> NoisyClasses:
    ranges, expectations = expect_batch(data.batch(partition.recoding), policy, mechanism_of(policy))
    return NoisyClasses(
        ranges=ranges,
        expectations=expectations,
        precisions=tuple(fraction(attribute.precision) for attribute in policy.epsilon_quasis.values()),
    )


def heading(data: DataSet, algorithm: str) -> Json:
    """What every measurement says first."""
    return {"data_set": data.name, "title": data.title, "is_stand_in": data.is_stand_in, "algorithm": algorithm}


def noise_source(setting: Setting, *purpose: object) -> ByteSource:
    """Bytes that are the same whenever the same thing is measured, and different for different things."""
    return unsafe_seeded_bytes(int.from_bytes(" ".join(map(str, (setting.seed, *purpose))).encode(), "big"))


def with_extra_k_quasi(data: DataSet) -> Mapping[str, Any]:
    """The policy document with the ε-quasi made a k-quasi of eight levels; Mondrian cuts it as the number it is."""
    extra = {"role": "k-quasi", "hierarchy": data.extra}
    return {**data.policy, "attributes": {**data.policy["attributes"], data.epsilon_quasi: extra}}
