# SPDX-License-Identifier: Apache-2.0
"""The rules by which a statistic may be used, and the sentence made of them."""

from __future__ import annotations

import dataclasses

import pytest

from kepsilon.evaluate.survival import rules
from kepsilon.evaluate.survival.figures import (
    Compared,
    ConstantError,
    ErrorInUnits,
    Followed,
    Quantiles,
    Relation,
    Survival,
)
from kepsilon.evaluate.survival.words import survival_in_words
from kepsilon.rounding import number, told_apart

CASES = {
    "mean within a tenth of the spread": (rules.shift(170, 170.9, spread=9.0), True),
    "mean beyond": (rules.shift(170, 171.1, spread=9.0), False),
    "mean of a constant column": (rules.shift(5, 5, spread=0.0), True),
    "mean of a constant column, moved": (rules.shift(5, 5.1, spread=0.0), False),
    "mean gone": (rules.shift(5, None, spread=1.0), False),
    "mean undefined": (rules.shift(None, 5, spread=1.0), None),
    "spread kept": (rules.stretch(9, 9.8), True),
    "spread doubled": (rules.stretch(9, 18), False),
    "spread halved": (rules.stretch(9, 4.5), False),
    "correlation kept": (rules.correlation_shift(0.3, 0.26), True),
    "correlation lost": (rules.correlation_shift(0.3, 0.1), False),
    "no correlation stays none, whatever its sign": (rules.correlation_shift(0.02, -0.02), True),
    "slope kept": (rules.slope_change(0.061, 0.059, standard_error=0.0), True),
    "slope halved": (rules.slope_change(0.061, 0.030, standard_error=0.0), False),
    "slope that chance would move as far": (rules.slope_change(0.061, 0.030, standard_error=0.04), True),
    "values followed": (rules.deafness(0.71), True),
    "values not followed": (rules.deafness(0.69), False),
    "values reversed": (rules.deafness(-0.9), False),
}


@pytest.mark.parametrize(("change", "usable"), CASES.values(), ids=CASES)
def test_a_statistic_may_be_used_where_it_is_near_what_it_was(change, usable):
    assert rules.usable(change) is usable


@pytest.mark.parametrize(
    ("error", "constant", "tells"),
    [(3.2, 4.4, True), (4.4, 4.4, False), (5.0, 4.4, False), (0.0, 0.0, True), (None, 4.4, None), (1.0, None, None)],
)
def test_single_values_are_worth_something_below_the_error_of_a_constant(error, constant, tells):
    """A column without any error tells all, also where every class is constant."""
    assert rules.tells_more_than_class(error, of_constant=constant) is tells


def compared(before, after, usable):
    return Compared(before=before, after=after, usable=usable)


KEPT = compared(10.0, 10.1, True)
SURVIVAL = Survival(
    mean=KEPT,
    spread=KEPT,
    quantiles=Quantiles(by_percent=dict.fromkeys(("5", "25", "50", "75", "95"), KEPT)),
    error=ErrorInUnits(expected=3.2, realised=3.1, usable=True),
    error_of_best_constant=ConstantError(absolute=4.4, relative=0.02, range_relative=0.1),
    correlation=Followed(inside_classes=0.9, usable=True),
    relations={"bp": Relation(correlation=KEPT, slope=KEPT)},
)


def test_the_sentence_says_what_may_be_used_and_what_not():
    """With how far a statistic is off, in words for somebody who reads nothing else."""
    weight = dataclasses.replace(
        SURVIVAL,
        spread=compared(14.0, 26.6, False),
        quantiles=Quantiles(
            by_percent={"5": compared(50.0, 20.0, False), "50": KEPT, "95": compared(90.0, 140.0, False)}
        ),
        error=ErrorInUnits(expected=16.9, realised=17.2, usable=False),
        error_of_best_constant=ConstantError(absolute=9.8, relative=0.1, range_relative=0.1),
        relations={"bp": Relation(correlation=compared(0.3, 0.1, False), slope=compared(0.061, 0.030, False))},
    )
    assert survival_in_words({"height": SURVIVAL, "weight": weight}) == (
        "An analyst may use: the mean of height and weight; the spread of height; the quantiles of height; single values of "
        "height; how height goes with bp. Not: the spread of weight (1.90 times what it was); the 5 and 95 % quantiles of "
        "weight; single values of weight (off by 16.9; one constant per class by 9.80); the slope of bp on weight (0.0300 "
        "instead of 0.0610)."
    )


def test_a_pair_of_epsilon_quasis_is_named_once():
    both = {
        name: dataclasses.replace(SURVIVAL, relations={other: Relation(correlation=KEPT, slope=KEPT)})
        for name, other in (("height", "weight"), ("weight", "height"))
    }
    assert (survival_in_words(both) or "").count("goes with") == 1


def test_nothing_to_compare_is_no_sentence():
    assert survival_in_words({}) is None


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        *((0, "0"), (3.2, "3.20"), (174.04, "174"), (123456.7, "123,457"), (0.03, "0.0300"), (-0.5, "−0.500")),
        *((9.996, "10.00"), (1e-6, "1.00e−06"), (1e300, "1.00e+300")),
    ],
)
def test_figures_have_three_digits(figure, words):
    assert number(figure) == words


def test_two_figures_that_differ_look_different():
    assert told_apart(174.4, 173.9) == ("174.4", "173.9")
    assert told_apart(0.030, 0.061) == ("0.0300", "0.0610")
    assert told_apart(100.01, 100.02) == ("100.010", "100.020")
    assert told_apart(1.0, 1.0) == ("1.00", "1.00")
