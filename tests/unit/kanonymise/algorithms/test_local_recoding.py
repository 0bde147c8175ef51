# SPDX-License-Identifier: Apache-2.0
"""Local recoding against slow, obvious versions of its pieces, and what every result has to keep."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kepsilon.kanonymise import candidate_cuts, placing
from kepsilon.kanonymise.algorithms import local_recoding, mondrian
from kepsilon.kanonymise.candidate_cuts import CandidateCuts, Guide, candidates_of, pairs_of
from kepsilon.kanonymise.first_parts import FirstPartsFailError
from kepsilon.kanonymise.local_attributes import local_attributes
from kepsilon.kanonymise.requirements.k_persons import KPersons
from kepsilon.kanonymise.requirements.k_records import KRecords
from kepsilon.kanonymise.requirements.l_diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from kepsilon.kanonymise.requirements.protocol import all_met
from kepsilon.kanonymise.requirements.t_closeness import TCloseness
from kepsilon.table.classes import SUPPRESSED
from material.mondrian_places import places
from material.toy_requirements import at_most
from oracles import slow_cuts
from strategies import Attribute, Sample, chances, encounters, samples, two_level_samples

STYLES = ("siblings", "ancestor")
EACH_STYLE = st.sampled_from(STYLES)
KINDS = ("categorical", "flat", "numeric", "intervals")
ALL_SAMPLES = st.one_of(
    samples(kinds=KINDS), samples(kinds=KINDS, max_attributes=4, max_records=60), two_level_samples()
)
FURTHER = {
    "persons": lambda k: KPersons(k=k),
    "distinct": lambda _: DistinctDiversity(column="illness", least=2),
    "entropy": lambda _: EntropyDiversity(column="illness", least=1.5),
    "recursive": lambda _: RecursiveDiversity(column="illness", c=3, least=2),
    "t": lambda _: TCloseness(column="illness", t=0.5),
}


def classes_of(recoding, sample):
    """Positions of the records of each class."""
    found = {}
    for i, own in enumerate(recoding.class_of[sample.combination_of].tolist()):
        found.setdefault(own, []).append(i)
    return found


def columns_of(sample):
    """Values and places of all records, by attribute."""
    values = [[record[i] for record in sample.records] for i in range(len(sample.attributes))]
    return values, list(zip(*places(sample), strict=True)) if sample.attributes else []


def cut_left(sample, recoding, *, k, style, meets=lambda _: True):
    """A cut that some class has left; None if there is none."""
    values, own = columns_of(sample)
    for class_id, members in classes_of(recoding, sample).items():
        if class_id != SUPPRESSED:
            left = slow_cuts.cut_left(members, values, own, sample.attributes, k=k, style=style, meets=meets)
            if left is not None:
                return left
    return None


def lost_by(recoding, importance):
    """ncp of the published labels, summed over records and weighted."""
    return sum(
        weight * float(np.dot(attribute.ncp, recoding.sizes))
        for weight, attribute in zip(importance, recoding.attributes, strict=True)
    )


@settings(max_examples=300)
@given(sample=ALL_SAMPLES, k=st.integers(1, 6), style=EACH_STYLE)
def test_every_class_has_k_records_and_no_cut_left(sample, k, style):
    """Every threshold and every child is tried on the records of every class, after equal labels were merged."""
    assume(sample.n_records >= k)
    recoding = local_recoding.anonymise(sample.table, k=k, labels=style)
    classes = classes_of(recoding, sample)
    assert sorted(map(len, classes.values())) == sorted(recoding.sizes.tolist())
    assert min(map(len, classes.values())) >= k
    assert cut_left(sample, recoding, k=k, style=style) is None


@given(sample=ALL_SAMPLES, k=st.integers(1, 6), style=EACH_STYLE)
def test_a_very_large_table_keeps_to_the_same_rules(sample, k, style):
    """Combinations that are classes by themselves are placed first there; every table counts as one here."""
    assume(sample.n_records >= k)
    with (
        mock.patch.object(local_recoding, "_MANY_COMBINATIONS", 0),
        mock.patch.object(local_recoding, "_LARGE_TABLE", 0),
    ):
        recoding = local_recoding.anonymise(sample.table, k=k, labels=style)
    by_mondrian = mondrian.anonymise(sample.table, k=k, labels=style)
    everybody_alike = [1.0] * len(sample.attributes)
    assert int(recoding.sizes.sum()) == sample.n_records
    assert int(recoding.sizes.min()) >= k
    assert cut_left(sample, recoding, k=k, style=style) is None
    assert lost_by(recoding, everybody_alike) <= lost_by(by_mondrian, everybody_alike) + 1e-6


@given(sample=ALL_SAMPLES, k=st.integers(1, 6), style=EACH_STYLE)
def test_labels_contain_their_records_and_lose_what_they_cover(sample, k, style):
    """By the slow version of every label's loss, which is also what the search counts with."""
    assume(sample.n_records >= k)
    recoding = local_recoding.anonymise(sample.table, k=k, labels=style)
    values, _ = columns_of(sample)
    total = 0.0
    for class_id, members in classes_of(recoding, sample).items():
        for attribute, column, labelled in zip(sample.attributes, values, recoding.attributes, strict=True):
            lost = slow_cuts.loss([column[i] for i in members], attribute, column, k=k, style=style)
            assert labelled.ncp[class_id] == pytest.approx(float(lost), abs=1e-9)
            total += len(members) * float(lost)
    attributes = local_attributes(sample.table, k=k, style=style, importance=[1.0] * len(sample.attributes))
    assert local_recoding.loss_of(attributes, sample.table.counts, recoding.class_of) == pytest.approx(total, abs=1e-6)


@settings(max_examples=200)
@given(sample=ALL_SAMPLES, k=st.integers(1, 5), style=EACH_STYLE)
def test_candidates_are_all_cuts_that_gain_and_their_gains(sample, k, style):
    """Those of the whole table, each found once or, where a child comes first or last, twice."""
    assume(sample.n_records >= k)
    table = sample.table
    values, own = columns_of(sample)
    everyone = list(range(sample.n_records))
    attributes = local_attributes(table, k=k, style=style, importance=[1.0] * len(sample.attributes))
    for attribute, seen, column, column_places in zip(sample.attributes, attributes, values, own, strict=True):
        pairs = pairs_of(
            seen.codes,
            table.counts,
            lengths=np.array([table.n_combinations]),
            smallest=seen.codes.min(keepdims=True),
            largest=seen.codes.max(keepdims=True),
        )
        found = candidates_of(seen, pairs, sizes=np.array([sample.n_records]), k=k, guide=Guide.LOSS)
        pair_of = np.searchsorted(pairs.codes, seen.codes)[sample.combination_of]
        by_sides = {}
        for first, last, score in zip(found.first.tolist(), found.last.tolist(), found.score.tolist(), strict=True):
            inside = frozenset(np.flatnonzero((first <= pair_of) & (pair_of <= last)).tolist())
            by_sides[frozenset({inside, frozenset(everyone) - inside})] = score
        expected = {}
        for sides in slow_cuts.cuts(everyone, column, column_places, attribute):
            gained = slow_cuts.gain(sides, column, attribute, k=k, style=style)
            if min(map(len, sides)) >= k and gained > 0:
                expected[frozenset(map(frozenset, sides))] = pytest.approx(float(gained), rel=1e-5)
        assert by_sides == expected


@given(sample=ALL_SAMPLES, k=st.integers(1, 6), style=EACH_STYLE, data=st.data())
def test_no_more_is_lost_than_by_mondrian(sample, k, style, data):
    """Mondrian's partition is one of those to choose from; losses are weighted by importance."""
    assume(sample.n_records >= k)
    n = len(sample.attributes)
    importance = data.draw(st.lists(st.sampled_from([0.01, 1.0, 5.0]), min_size=n, max_size=n))
    found = local_recoding.anonymise(sample.table, k=k, labels=style, importance=importance)
    partition = mondrian.partition(sample.table, k=k, importance=importance)
    other = mondrian.recode(sample.table, partition, labels=style)
    assert lost_by(found, importance) <= lost_by(other, importance) + 1e-6


@given(sample=ALL_SAMPLES, k=st.integers(1, 6), chance=chances)
def test_record_order_does_not_matter(sample, k, chance):
    """Two exports of one table must give one release, class ids included."""
    assume(sample.n_records >= k)
    other = sample.reordered(chance.sample(range(sample.n_records), sample.n_records))
    one, two = (local_recoding.anonymise(s.table, k=k) for s in (sample, other))
    assert one.class_of.tolist() == two.class_of.tolist()
    assert [a.labels for a in one.attributes] == [a.labels for a in two.attributes]


def test_the_hash_seed_does_not_matter():
    """Sets of nodes are sorted before they are used."""
    script = (
        "from material.benchmark_tables import survey; from kepsilon.kanonymise.algorithms import local_recoding; import zlib; "
        "print(zlib.crc32(local_recoding.anonymise(survey(400, n_questions=14), k=5).class_of.tobytes()))"
    )
    outputs = set()
    for seed in ("1", "2"):
        paths = os.pathsep.join(sys.path)
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths}
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)
        outputs.add(done.stdout)
    assert len(outputs) == 1


@settings(max_examples=200)
@given(made_up=encounters(), k=st.integers(1, 4), names=st.sets(st.sampled_from(sorted(FURTHER)), min_size=1))
def test_every_class_meets_every_requirement_and_no_allowed_cut_is_left(made_up, k, names):
    """Also where the best cuts fail and a worse one does not."""
    table, sample = made_up.table, made_up.sample
    further = [FURTHER[name](k) for name in sorted(names)]
    try:
        recoding = local_recoding.anonymise(table, k=k, further=further)
    except FirstPartsFailError:
        whole = np.zeros(table.n_combinations, dtype=np.int64)
        assert not all_met([KRecords(k=k), *further], table, whole, n_classes=1).all()
        return
    assert all_met([KRecords(k=k), *further], table, recoding.class_of, n_classes=recoding.n_classes).all()

    def meets(members):
        class_of = np.full(table.n_combinations, SUPPRESSED)
        class_of[sample.combination_of[members]] = 0
        return bool(all_met(further, table, class_of, n_classes=1)[0])

    assert cut_left(sample, recoding, k=k, style="siblings", meets=meets) is None


def test_a_requirement_that_breaks_in_unions_is_refused():
    """Classes with equal labels are merged."""
    sample = Sample(attributes=[Attribute(name="a", labels={"A": ["A", "*"]})], records=[("A",)] * 9)
    with pytest.raises(ValueError, match="does not hold for unions"):
        local_recoding.anonymise(sample.table, k=2, further=[at_most(5)])


@given(sample=samples(max_attributes=3), k=st.integers(1, 4), data=st.data())
def test_no_class_reaches_beyond_the_highest_level_and_only_small_parts_are_left_out(sample, k, data):
    """For both local algorithms; a part is what the fixed attribute and the nodes of the highest levels keep apart."""
    n = len(sample.attributes)
    fixed = data.draw(st.lists(st.sampled_from(range(n)), max_size=1) if n else st.just([]))
    hierarchies = [i for i, a in enumerate(sample.attributes) if a.numbers is None and a.generalises]
    max_levels = [data.draw(st.sampled_from([None, 0, 1, 2])) if i in hierarchies else None for i in range(n)]
    limit = data.draw(st.sampled_from([0, 3, sample.n_records]))
    own = places(sample)

    def part(i):
        record = sample.records[i]
        nodes = [
            None if level is None else sample.attributes[a].labels[record[a]][: level + 1][-1]
            for a, level in enumerate(max_levels)
        ]
        return tuple(own[i][a] for a in fixed), tuple(nodes)

    sizes = Counter(part(i) for i in range(sample.n_records))
    small = sum(size for size in sizes.values() if size < k)
    arguments = {"k": k, "fixed": fixed, "max_levels": max_levels, "max_suppressed": limit}
    if small > limit or small == sample.n_records:
        for algorithm in (mondrian.partition, local_recoding.anonymise):
            with pytest.raises(FirstPartsFailError) as caught:
                algorithm(sample.table, **arguments)
            assert (caught.value.n_records, caught.value.n_left_out) == (small, small)
        return
    for recoding in (
        local_recoding.anonymise(sample.table, **arguments),
        mondrian.recode(sample.table, mondrian.partition(sample.table, **arguments)),
    ):
        class_of = recoding.class_of[sample.combination_of]
        assert [own == SUPPRESSED for own in class_of.tolist()] == [sizes[part(i)] < k for i in range(sample.n_records)]
        for class_id, members in classes_of(recoding, sample).items():
            if class_id != SUPPRESSED:
                assert len(members) >= k
                held = [[sample.records[i][a] for i in members] for a in range(n)]
                for values, attribute, level in zip(held, sample.attributes, max_levels, strict=True):
                    highest = attribute.n_levels - 1 if level is None else level
                    assert level is None or slow_cuts.ancestor(values, attribute)[0] <= highest


@given(sample=ALL_SAMPLES, k=st.integers(1, 6))
def test_sets_name_what_occurs_and_ancestors_stand_for_more_than_four_children(sample, k):
    """A rare value is not marked by a label that only it and a few others could have; for both local algorithms."""
    assume(sample.n_records >= k)
    for algorithm in (local_recoding, mondrian):
        recoding = algorithm.anonymise(sample.table, k=k)
        for class_id, members in classes_of(recoding, sample).items():
            for a, (attribute, labelled) in enumerate(zip(sample.attributes, recoding.attributes, strict=True)):
                if attribute.numbers is not None or not attribute.generalises:
                    continue  # intervals on a step, and values without siblings
                values = [sample.records[i][a] for i in members]
                children = slow_cuts.children_of(values, attribute)
                label = labelled.labels[labelled.of_class[class_id]]
                if 2 <= len(children) <= 4:
                    assert label.startswith("{")
                    assert label.count(",") >= len(children) - 1
                elif len(children) > 4:
                    _, ancestor = slow_cuts.ancestor(values, attribute)
                    assert label == ancestor or label == f'{{"{ancestor}"}}'


def test_importance_keeps_the_detail_of_what_matters():
    """The attribute that weighs more loses less than it would otherwise."""
    rng = np.random.default_rng(8)
    attributes = [Attribute(name=n, labels={v: [v, "*"] for v in "ABCDEFGH"}) for n in "ab"]
    sample = Sample(
        attributes=attributes, records=[tuple(rng.choice(list("ABCDEFGH"), 2).tolist()) for _ in range(300)]
    )

    def losses(importance):
        recoding = local_recoding.anonymise(sample.table, k=12, importance=importance)
        return [float(np.dot(own.ncp, recoding.sizes)) for own in recoding.attributes]

    assert losses([10.0, 1.0])[0] < losses([1.0, 1.0])[0] < losses([1.0, 10.0])[0]


def small_table():
    """Few records of many combinations, so that every step of the search has something to do."""
    rng = np.random.default_rng(5)
    labels = {v: [v, "PQR"[i // 4], "*"] for i, v in enumerate("ABCDEFGHIJKL")}
    attributes = [Attribute(name=name, labels=labels) for name in "ab"]
    records = [tuple("ABCDEFGHIJKL"[min(11, int(x))] for x in rng.gamma(2, 2, 2)) for _ in range(240)]
    return Sample(attributes=attributes, records=records)


def no_cuts(*_, **__):
    nothing = np.zeros(0, dtype=np.int64)
    return nothing, nothing, nothing, nothing, nothing


def test_a_search_without_cuts_of_children_is_noticed(monkeypatch):
    """Mutant: thresholds only."""
    sample = small_table()
    results = []
    for k in (2, 3, 4, 6, 9):
        monkeypatch.undo()
        assert cut_left(sample, local_recoding.anonymise(sample.table, k=k), k=k, style="siblings") is None
        monkeypatch.setattr(candidate_cuts, "_single_children", no_cuts)
        results.append(cut_left(sample, local_recoding.anonymise(sample.table, k=k), k=k, style="siblings"))
    assert any(result is not None for result in results)


def test_gains_of_a_wrong_sign_are_noticed(monkeypatch):
    """Mutant: the worst cut is taken for the best; the loss is no longer below Mondrian's by far."""
    sample = small_table()
    right = lost_by(local_recoding.anonymise(sample.table, k=3), [1, 1])
    best = CandidateCuts.best_of_each_part

    def worst(self, *, n_parts):
        return best(
            CandidateCuts(parts=self.parts, first=self.first, last=self.last, score=1 / self.score), n_parts=n_parts
        )

    monkeypatch.setattr(CandidateCuts, "best_of_each_part", worst)
    assert lost_by(local_recoding.anonymise(sample.table, k=3), [1, 1]) > right


def test_a_rest_that_cannot_be_placed_is_noticed(monkeypatch):
    """Mutant: placing keeps every class of k, whatever it leaves."""
    sample = small_table()
    monkeypatch.setattr(placing, "_leaving_enough", lambda kept, *_: kept)
    attributes = local_attributes(sample.table, k=3, style="siblings", importance=[1.0, 1.0])
    everything = np.zeros(sample.table.n_combinations, dtype=np.int64)
    left = [
        placing.place(attributes, sample.table.counts, everything, [(0, 0), (1, 1)], k=k).min() for k in range(2, 30)
    ]
    assert min(left) == SUPPRESSED
    monkeypatch.undo()
    for k in range(2, 30):
        class_of = placing.place(attributes, sample.table.counts, everything, [(0, 0), (1, 1)], k=k)
        assert np.bincount(class_of, weights=sample.table.counts).min() >= k


def test_a_wide_range_and_little_importance_leave_no_cut():
    """What a cut gains counts beside what its part loses, not beside what the whole range would."""
    numbers = [*range(100), 10**9, 10**9]
    wide = Attribute(name="n", labels={str(n): [str(n)] for n in numbers}, numbers={str(n): n for n in numbers})
    letters = Attribute(name="c", labels={v: [v, "*"] for v in "ab"})
    sample = Sample(attributes=[wide, letters], records=[(str(n), "ab"[i % 2]) for i, n in enumerate(numbers)])
    recoding = local_recoding.anonymise(sample.table, k=2, importance=[0.001, 1.0])
    assert cut_left(sample, recoding, k=2, style="siblings") is None
    assert max(recoding.sizes) <= 3
