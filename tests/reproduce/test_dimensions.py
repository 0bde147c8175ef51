# SPDX-License-Identifier: Apache-2.0
"""What the other k-quasis lose when height is made one of them."""

from __future__ import annotations

import numpy as np
import pytest

from kepsilon.reproduce.data import data_sets
from kepsilon.reproduce.experiments import dimensions
from kepsilon.reproduce.experiments.counted_data import count_data, with_extra_k_quasi
from kepsilon.reproduce.scope import Scope
from material.small_data_sets import SHORT, assert_plain, of_people, short_michigan

ONE_K = Scope(ks=(2,))


def measured(data, algorithm, setting=ONE_K):
    found = dimensions.dimensions(count_data(data), algorithm, setting)
    assert_plain(found)
    return found


def test_what_the_others_lose_to_a_kept_height_is_worked_out_by_hand():
    """Heights 40 cm apart, one woman and one man each: pairs are kept together by giving up gender."""
    heights = [100.1, 140.1, 180.1, 220.1] * 2
    (found,) = measured(of_people(["F"] * 4 + ["M"] * 4, heights), "ola")["ks"]
    assert (found["loss_without"], found["loss_with"], found["relative_gain"]) == (0, 1, 1)
    assert (found["levels_without"], found["levels_with"]) == ({"gender": 0}, {"gender": 1, "height": 0})
    assert (found["extra_loss"], found["extra_error"], found["epsilon_same_error"]) == (0, 0, None)
    assert (found["classes_without"], found["classes_with"]) == (2, 4)
    assert found["noise_error_at_1"] == pytest.approx(np.mean(120 / np.array(heights)))


def test_a_generalised_height_costs_the_distance_to_its_interval():
    """Two women within a centimetre, twice, and men likewise: intervals of 1 cm are enough, one of eight levels."""
    heights = np.array([160.1, 160.6, 170.1, 170.6, 180.1, 180.6, 190.1, 190.6])
    (found,) = measured(of_people(["F"] * 4 + ["M"] * 4, heights), "ola")["ks"]
    assert found["levels_with"] == {"gender": 0, "height": 1}
    assert found["extra_loss"] == pytest.approx(1 / 7)
    assert found["loss_with"] == 0
    assert found["relative_gain"] is None
    middles = np.array([160.5, 160.5, 170.5, 170.5, 180.5, 180.5, 190.5, 190.5])
    error = np.mean(np.abs(middles - heights) / heights)
    assert found["extra_error"] == pytest.approx(error)
    assert found["epsilon_same_error"] == pytest.approx(np.mean(10.5 / heights) / error)


def test_a_height_that_is_gone_has_no_middle():
    """At the top nothing is published of it, so there is no error to speak of."""
    heights = [100.1, 140.1, 180.1, 220.1]
    (found,) = measured(of_people(["F", "F", "M", "M"], heights), "ola")["ks"]
    assert found["levels_with"] == {"gender": 0, "height": 7}
    assert found["extra_loss"] == 1
    assert found["extra_error"] is None
    assert found["epsilon_same_error"] is None


def test_mondrian_cuts_height_as_a_number():
    """Gender first, a tie; then each at the median height: intervals of half a centimetre in 30.5."""
    heights = np.array([160.1, 160.6, 170.1, 170.6, 180.1, 180.6, 190.1, 190.6])
    (found,) = measured(of_people(["F"] * 4 + ["M"] * 4, heights), "mondrian")["ks"]
    assert (found["classes_without"], found["classes_with"]) == (2, 4)
    assert found["extra_loss"] == pytest.approx(0.5 / 30.5)
    assert found["extra_error"] == pytest.approx(np.mean(0.25 / heights))
    assert (found["levels_without"], found["levels_with"]) == (None, None)


def test_suppressed_records_are_counted_on_either_side():
    """One woman among men: at k = 2 she goes, unless nobody may."""
    people = (["F", *["M"] * 9], [160.1, *[180.1] * 9])
    (found,) = measured(of_people(*people, max_suppression=0.1), "ola")["ks"]
    assert (found["suppressed_without"], found["suppressed_with"]) == pytest.approx((0.1, 0.1))
    (found,) = measured(of_people(*people), "ola")["ks"]
    assert (found["suppressed_without"], found["suppressed_with"]) == (0, 0)


def test_mondrian_makes_nothing_of_the_hierarchy():
    """So that the same document serves both algorithms: numbers are cut and labelled as numbers."""
    data = short_michigan()
    document = with_extra_k_quasi(data)
    bare = {**document, "algorithm": "mondrian"}
    bare["attributes"] = {**document["attributes"], "weight": {"role": "k-quasi", "step": 0.1}}
    with_levels, without = (count_data(data, document=one).partitions("mondrian", [5])[5] for one in (document, bare))
    np.testing.assert_array_equal(with_levels.recoding.sizes, without.recoding.sizes)
    for one, other in zip(with_levels.recoding.attributes, without.recoding.attributes, strict=True):
        assert one.labels == other.labels
        np.testing.assert_array_equal(one.loss, other.loss)


@pytest.mark.parametrize("algorithm", ["ola", "mondrian"])
def test_losses_are_means_of_the_labels_that_are_published(algorithm):
    """Recomputed from the labels of every record, as a reader of the release would."""
    data = short_michigan()
    found = {row["k"]: row for row in measured(data, algorithm, SHORT)["ks"]}
    crowded = count_data(data, document=with_extra_k_quasi(data))
    recoding = crowded.partitions(algorithm, [20])[20].recoding
    class_ids = crowded.class_ids(recoding)
    shown = recoding.attributes[-1]
    labels = [shown.labels[shown.of_class[i]] for i in class_ids.tolist() if i >= 0]
    weights = data.columns["weight"]
    if algorithm == "ola":
        level = found[20]["levels_with"]["weight"]
        assert found[20]["extra_loss"] == pytest.approx(level / 7)
    else:
        # Weights have one decimal, and intervals end before the next.
        ends = [[float(end) for end in text.strip("[)").split(", ")] for text in labels]
        low, high = np.array(ends).T - [[0], [0.1]]
        own = weights[class_ids >= 0]
        assert (low <= own + 1e-9).all()
        assert (own <= high + 1e-9).all()
        assert found[20]["extra_loss"] == pytest.approx(np.mean(high - low) / (weights.max() - weights.min()))
        assert found[20]["extra_error"] == pytest.approx(np.mean(np.abs((low + high) / 2 - own) / own))
    assert set(found[20]["losses_with"]) == {"zip", "gender", "birth_year"}
    assert found[20]["loss_with"] == pytest.approx(np.mean(list(found[20]["losses_with"].values())))
    assert found[20]["relative_gain"] == pytest.approx(1 - found[20]["loss_without"] / found[20]["loss_with"])


def test_other_losses_choose_other_nodes():
    """The precision loss never generalises more, on average over all k-quasis, than dm* does."""
    found = measured(short_michigan(), "ola", SHORT)
    assert set(found["by_loss"]) == {"precision", "entropy"}
    for by_dm, by_precision in zip(found["ks"], found["by_loss"]["precision"], strict=True):
        assert by_precision["k"] == by_dm["k"]
        assert by_precision["loss_without"] <= by_dm["loss_without"]
        all_with = [3 * row["loss_with"] + row["extra_loss"] for row in (by_precision, by_dm)]
        assert all_with[0] <= all_with[1]


@pytest.mark.shared_data
def test_adult_without_height_is_at_the_papers_nodes(adult_path):
    """The table of suppression, and the loss of 0.375 that the paper's text rounds to 0.4."""
    found = measured(data_sets.adult(adult_path, seed=1), "ola", Scope(ks=(2, 20, 100)))["ks"]
    assert [list(row["levels_without"].values()) for row in found] == [[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 2]]
    assert [round(100 * row["suppressed_without"], 2) for row in found] == [1.67, 1.47, 4.80]
    assert found[1]["loss_without"] == 0.375
