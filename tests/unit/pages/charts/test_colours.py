# SPDX-License-Identifier: Apache-2.0
"""Colours of the k as those see them who have no red or no green cones, by Machado, Oliveira and Fernandes (2009)."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest

from kepsilon.pages.charts import STYLE, styles_of

SEEN_BY = {
    "everybody": np.eye(3),
    "deuteranopes": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "protanopes": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def lab(colour, eyes):
    """In CIELAB, after eyes have changed what light there is."""
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    light = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    ratio = TO_XYZ @ np.clip(eyes @ light, 0, 1) / WHITE
    x, y, z = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_white_is_white_and_black_is_black_to_all():
    """The simulation of colour blindness must leave greys alone, or its verdicts are worth nothing."""
    for eyes in SEEN_BY.values():
        assert lab("#ffffff", eyes) == pytest.approx([100, 0, 0], abs=0.1)
        assert lab("#000000", eyes) == pytest.approx([0, 0, 0], abs=0.1)


def test_red_and_green_are_near_one_another_to_deuteranopes():
    """The simulation does what it is for: these two differ by far for everybody else."""
    red, green = "#b83a00", "#8a6a00"
    apart = [np.linalg.norm(lab(red, SEEN_BY[who]) - lab(green, SEEN_BY[who])) for who in ("everybody", "deuteranopes")]
    assert apart[1] < apart[0] / 3


@pytest.mark.parametrize("who", SEEN_BY)
@pytest.mark.parametrize("which", [0, 1], ids=["light", "dark"])
def test_no_two_of_the_papers_k_look_alike(which, who):
    """10 in CIE 1976 is a difference seen at a glance."""
    variables = dict(re.findall(r"--(\w+):(#[0-9a-f]{6})", STYLE.split("@media")[which]))
    looks = styles_of((2, 5, 10, 20, 50, 100))
    for (one, a), (other, b) in combinations(looks.items(), 2):
        seen = [lab(variables[f"c{look.colour}"], SEEN_BY[who]) for look in (a, b)]
        assert np.linalg.norm(seen[0] - seen[1]) >= 10, (one, other)
