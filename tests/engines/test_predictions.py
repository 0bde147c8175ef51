# SPDX-License-Identifier: Apache-2.0
"""One prediction, one path: what `check`, `explore` and `anonymise` expect is the same, whatever engine holds the records."""

from __future__ import annotations

import functools
import re
import tempfile
from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import kepsilon
from engines.test_every_engine import same
from kepsilon.engines.arrow.column_facts import _MIXING, _Followed, present, repetition
from kepsilon.engines.protocol import Repetition
from kepsilon.engines.spilling.engine import SpillingEngine
from kepsilon.evaluate import simulated_figures
from kepsilon.policy.choices import MECHANISMS
from kepsilon.predict import outlook
from kepsilon.table import blocks
from material.engine_cases import (
    CASES,
    ENGINES,
    EVERY,
    MEMORY,
    OTHERS,
    SEED,
    Case,
    confident,
    document,
    giant_among_others,
    pairs,
    plain,
    random_people,
    release,
)
from material.toy_mechanism import Toy

KS, EPSILONS = [3, 8], [0.5, 2]


def policy_of(case: Case, **changes) -> kepsilon.Policy:
    return kepsilon.Policy.from_dict({**case.policy, **changes})


def figures(prediction: kepsilon.Prediction) -> dict:
    """Everything but what `explore` leaves out: warnings about columns, and attackers who know kept columns."""
    found = {name: own for name, own in prediction.to_json().items() if name != "warnings"}
    found["attackers"] = [own for own in found["attackers"] if own["needs_only_quasis"]]
    return found


@pytest.fixture(scope="module")
def hard(request, tmp_path_factory):
    """A hard table on disk, checked and explored once by every engine."""
    case = CASES[request.param]()
    folder = tmp_path_factory.mktemp("hard")
    source, policy = case.write(folder), policy_of(case)

    @functools.cache
    def checked(engine: str) -> kepsilon.Prediction:
        return kepsilon.check(source, policy, engine=ENGINES[engine](folder, case.memory))

    @functools.cache
    def explored(engine: str) -> kepsilon.Grid:
        return kepsilon.explore(source, policy, k=KS, epsilon=EPSILONS, engine=ENGINES[engine](folder, case.memory))

    return checked, explored


CHECKED = ["nulls", "giant class", "confident giant", "no epsilon quasi", "mondrian", "coded columns"]
EXPLORED = ["plain", "missing in class", "giant among others", "skewed keys", "confident", "unlisted"]


def without_digits(prediction):
    """The prediction, warnings without figures: those have few digits, so that sums that differ in the last may show."""
    words = [{**own, "what": re.sub(r"[0-9.]+", "", own["what"])} for own in prediction["warnings"]]
    return {**prediction, "warnings": words}


@pytest.mark.parametrize(("hard", "engine"), pairs(CHECKED), indirect=["hard"])
def test_every_engine_checks_alike(hard, engine):
    """Whole numbers and words exactly, figures to 1e-12; warnings about columns included."""
    checked, _ = hard
    same(without_digits(checked("in memory").to_json()), without_digits(checked(engine).to_json()))


@pytest.mark.parametrize(("hard", "engine"), pairs(EXPLORED), indirect=["hard"])
def test_every_engine_explores_alike(hard, engine):
    """Every cell, refused or not."""
    _, explored = hard
    here, there = explored("in memory").cells, explored(engine).cells
    assert [cell.refused for cell in here] == [cell.refused for cell in there]
    for mine, theirs in zip(here, there, strict=True):
        if mine.prediction is not None:
            same(without_digits(mine.prediction.to_json()), without_digits(theirs.prediction.to_json()))


@pytest.mark.parametrize("range_", ["class", {"coarse": 5}, [160, 180]], ids=["class", "coarse", "declared, clipped"])
@pytest.mark.parametrize("algorithm", ["ola", "mondrian", "local-recoding"])
def test_in_memory_all_three_say_the_same_to_the_last_bit(range_, algorithm):
    """They are handed one value by one function."""
    height = {"role": "epsilon-quasi", "precision": 0.1, "range": range_}
    case = Case(pa.table(random_people(2_000)), {**document(height=height), "confidence": 0.9, "algorithm": algorithm})
    policy = policy_of(case, k=8)
    (cell,) = kepsilon.explore(case.table, policy, k=8, epsilon=2, algorithm=algorithm).cells
    checked = kepsilon.check(case.table, policy)
    record = kepsilon.anonymise(case.table, policy, unsafe_seed=1).record
    assert figures(cell.prediction) == figures(checked)
    found = checked.to_json()
    for part in ("error", "linking_risk", "confident_k"):
        written = record[part]["height"] if part == "error" else record[part]
        expected = found[part]["height"] if part == "error" else found[part]
        assert {name: written[name] for name in expected} == expected
    for part in ("loss", "clipped", "constant_classes", "small_noise", "outliers", "kept_columns"):
        assert record[part] == found[part]
    assert [{**own, "realised": None} for own in record.to_json()["attackers"]] == found["attackers"]
    assert len(found["attackers"]) > 3
    assert record.get("levels") == found.get("levels")
    assert record["records"]["suppressed_by_k"] == found["records"]["suppressed_by_k"]


@pytest.fixture
def small_blocks(monkeypatch):
    """A few classes are a block, so that a small table has many."""
    monkeypatch.setattr(blocks, "_SMALLEST", 80)


def two_quasis(n: int = 3_000) -> Case:
    columns = random_people(n)
    columns["weight"] = np.round(np.random.default_rng(SEED).normal(70, 12, n), 1)
    attributes = document(weight={"role": "epsilon-quasi", "precision": 0.1, "range": [45, 95]})
    return Case(pa.table(columns), {**attributes, "confidence": 0.9})


def all_three(source, policy, engine) -> list[tuple]:
    """Linking risk and confident k, as expected by `check`, `explore` and `anonymise`."""
    checked = kepsilon.check(source, policy, engine=engine)
    cell = kepsilon.explore(source, policy, k=policy.k, epsilon=2, algorithm="ola", engine=engine).cells[0]
    with kepsilon.anonymise(source, policy, engine=engine) as release:
        record = release.record
    found = [(own.linking_risk, own.confident_k) for own in (checked, cell.prediction)]
    return [*found, (record.linking_risk.predicted, record.confident_k.predicted)]


@pytest.mark.parametrize("engine", EVERY)
def test_what_is_simulated_is_the_same_for_all_three(engine, tmp_path, small_blocks):
    """With several ε-quasis, and on every engine as in memory: to 1e-12, or `check` could refuse what `anonymise` releases."""
    case = two_quasis()
    source, policy = case.write(tmp_path), policy_of(case)
    here = kepsilon.check(source, policy)
    assert here.linking_risk.fair.variance > 0, "links are simulated"
    assert here.confident_k.of_entering.variance > 0, "and so is what goes for confident k"
    for risk, gone in all_three(source, policy, ENGINES[engine](tmp_path, case.memory)):
        same(asdict(here.linking_risk), asdict(risk))
        same(asdict(here.confident_k), asdict(gone))


@pytest.mark.parametrize("memory", [MEMORY, 4 * MEMORY, 1_000 * MEMORY])
def test_what_is_simulated_does_not_depend_on_memory(memory, tmp_path, small_blocks):
    """Batches are other ones, and hold the same blocks; classes above 1,024 records, whose largest posterior is a bound, among them."""
    case = two_quasis(12_000)
    source, policy = case.write(tmp_path), policy_of(case, k=1_000)
    same(
        kepsilon.check(source, policy).to_json(),
        kepsilon.check(source, policy, engine=SpillingEngine(memory=20 * memory, folder=tmp_path)).to_json(),
    )


@pytest.mark.parametrize("memory", [MEMORY, 4 * MEMORY, 1_000 * MEMORY])
def test_draws_of_a_mechanism_do_not_depend_on_memory(memory, tmp_path, small_blocks, monkeypatch):
    """A mechanism without closed forms: also where a class is known by counts, because it is too large for a batch."""
    monkeypatch.setattr(simulated_figures, "_LARGE", 400)
    case = CASES["giant among others"]()
    case.policy["attributes"]["height"] |= {"mechanism": "toy", "range": [155, 190], "precision": 1}
    with MECHANISMS.having(Toy()):
        source, policy = case.write(tmp_path), policy_of(case, confidence=0.9)
        here = kepsilon.check(source, policy)
        there = kepsilon.check(source, policy, engine=SpillingEngine(memory=memory, folder=tmp_path))
    assert here.linking_risk.fair.variance > 0, "links are simulated"
    same(here.to_json(), there.to_json())


@pytest.mark.parametrize("engine", OTHERS)
def test_draws_inside_a_range_are_expected_alike_by_every_engine_and_released_by_it(engine, tmp_path, small_blocks):
    """The mechanism `bounded-laplace`: links are simulated, and no value leaves its range."""
    case = CASES["giant among others"]()
    case.policy["attributes"]["height"] |= {"mechanism": "bounded-laplace", "range": [155, 190], "precision": 1}
    source, policy = case.write(tmp_path), policy_of(case, confidence=0.9)
    own = ENGINES[engine](tmp_path, MEMORY)
    here, there = kepsilon.check(source, policy), kepsilon.check(source, policy, engine=own)
    assert here.linking_risk.fair.variance > 0, "links are simulated"
    same(here.to_json(), there.to_json())
    frame = release(case, engine, tmp_path).frame
    heights = frame["height"].to_numpy()
    assert heights.min() >= 155
    assert heights.max() <= 190


def test_what_is_simulated_does_not_depend_on_the_order_of_records(small_blocks):
    """Records are drawn by their position in the order of values, not of the table."""
    case = two_quasis()
    backwards = case.table.take(pa.array(np.arange(len(case.table))[::-1]))
    one, other = (kepsilon.check(table, policy_of(case)) for table in (case.table, backwards))
    assert (one.linking_risk, one.confident_k) == (other.linking_risk, other.confident_k)


def test_a_mistake_in_the_one_path_shows_in_all_three(monkeypatch):
    """Ranges that are a tenth too wide: error and risk change in check, explore and anonymise, to the same figures."""

    def expected(table, policy):
        (cell,) = kepsilon.explore(table, policy, k=5, epsilon=2, algorithm="ola").cells
        checked = kepsilon.check(table, policy)
        record = kepsilon.anonymise(table, policy, unsafe_seed=1).record
        return [
            (cell.prediction.error["height"].expected_relative, cell.prediction.linking_risk.fair.total),
            (checked.error["height"].expected_relative, checked.linking_risk.fair.total),
            (record["error"]["height"]["expected_relative"], record["linking_risk"]["expected"]),
        ]

    table, policy = plain().table, policy_of(plain())
    honest = expected(table, policy)
    right = outlook.ranges_of

    def mutant(values, class_ids, **rest):
        ranges = right(values, class_ids, **rest)
        wider = (ranges.high - ranges.low) / 20
        object.__setattr__(ranges, "low", ranges.low - wider)
        object.__setattr__(ranges, "high", ranges.high + wider)
        return ranges

    monkeypatch.setattr(outlook, "ranges_of", mutant)
    mutated = expected(table, policy)
    assert len(set(honest)) == len(set(mutated)) == 1
    assert all(after[0] == pytest.approx(1.1 * before[0]) for before, after in zip(honest, mutated, strict=True))
    assert all(after[1] < before[1] for before, after in zip(honest, mutated, strict=True))


@pytest.mark.parametrize("epsilon", [0.05, 2, 3])
def test_the_report_shows_every_epsilon_once(epsilon):
    """The policy's own among those of the paper; 0.05 is no binary fraction."""
    shown = kepsilon.anonymise(plain().table, policy_of(plain(), epsilon=epsilon))._pictures.risk_by_epsilon
    assert [own for own, _ in shown] == sorted({0.05, 0.5, 1, 2, 4, 8, 16, epsilon})
    risks = [risk for _, risk in shown]
    assert risks == sorted(risks)


def test_records_are_stored_once_for_all_partitions(tmp_path, monkeypatch):
    """By combination: another k reads what is there."""
    from kepsilon.engines.spilling import columns as spilling

    stored = []
    honest = spilling.SpilledColumns._scatter
    monkeypatch.setattr(
        spilling.SpilledColumns, "_scatter", lambda *a, **b: stored.append(b["to_release"]) or honest(*a, **b)
    )
    engine = ENGINES["spilling"](tmp_path, MEMORY)
    grid = kepsilon.explore(plain().write(tmp_path), policy_of(plain()), k=[2, 5, 9], epsilon=[1, 2], engine=engine)
    assert len(grid.cells) == 18
    assert stored == [False]


@pytest.mark.parametrize("engine", OTHERS)
def test_nothing_is_left_on_disk(engine, tmp_path):
    """Whether all goes well or a cell is refused."""
    source, folder = plain().write(tmp_path), tmp_path / "spill"
    folder.mkdir()
    own = ENGINES[engine](folder, MEMORY)
    kepsilon.check(source, policy_of(plain()), engine=own)
    kepsilon.explore(source, policy_of(plain()), k=[3, 10_000], epsilon=[1], engine=own)
    with pytest.raises(kepsilon.UnsatisfiableError) as refused:
        kepsilon.check(source, policy_of(confident(), max_total_suppression=0, epsilon=50), engine=own)
    # The traceback still holds the columns, so that it was not their end that removed what they kept.
    assert refused.tb is not None
    assert list(folder.iterdir()) == []


def test_what_previews_keep_goes_when_columns_are_closed(tmp_path):
    """Not only when they are forgotten."""
    from kepsilon.count import read_and_count
    from kepsilon.kanonymise.algorithms import k_anonymise
    from kepsilon.stopwatch import Stopwatch, ignore_step

    source, folder = plain().write(tmp_path), tmp_path / "spill"
    folder.mkdir()
    engine, clock = ENGINES["spilling"](folder, MEMORY), Stopwatch(ignore_step)
    counted = read_and_count(source, policy_of(plain()), engine=engine, clock=clock)
    preview = counted.columns.preview(k_anonymise(counted.table, policy_of(plain())).recoding)
    assert len(list(folder.iterdir())) == 1
    counted.columns.close()
    assert list(folder.iterdir()) == []
    assert len(preview.sizes)


def test_a_memory_limit_is_enough_to_say(tmp_path):
    """As for `anonymise`: no engine has to be made by hand."""
    source = plain().write(tmp_path)
    here = kepsilon.check(source, policy_of(plain()))
    same(here.to_json(), kepsilon.check(source, policy_of(plain()), memory="200MB", spill_folder=tmp_path).to_json())
    grid = kepsilon.explore(source, policy_of(plain()), k=5, epsilon=2, memory="200MB", spill_folder=tmp_path)
    same(figures(here), figures(grid.cells[0].prediction))
    with pytest.raises(ValueError, match="its own limit"):
        kepsilon.check(source, policy_of(plain()), memory="1GB", engine=ENGINES["in memory"](None, None))


@pytest.mark.parametrize("engine", EVERY)
def test_a_refusal_looks_at_the_classes_no_more_often_than_a_release(engine, tmp_path, monkeypatch):
    """Once to see that it is too much, and once to say which ε would do."""
    case = confident()
    source = case.write(tmp_path)
    kinds = {
        "in memory": "kepsilon.engines.local.classes.LocalClasses",
        "spilling": "kepsilon.engines.spilling.classes.SpilledClasses",
        "spark": "kepsilon.engines.spark.classes.SparkClasses",
    }
    looks = []
    module, _, name = kinds[engine].rpartition(".")
    kind = getattr(__import__(module, fromlist=[name]), name)
    for method in ("each", "draw", "each_released"):
        honest = getattr(kind, method)
        monkeypatch.setattr(kind, method, lambda *a, honest=honest, **b: looks.append(1) or honest(*a, **b))
    own = ENGINES[engine](tmp_path, case.memory)
    kepsilon.anonymise(source, policy_of(case), engine=own).close()
    n_of_a_release = len(looks)
    looks.clear()
    with pytest.raises(kepsilon.UnsatisfiableError, match=r"epsilon = [0-9.]+; or a higher confidence") as refused:
        kepsilon.anonymise(source, policy_of(case, max_total_suppression=0.001, epsilon=50), engine=own)
    assert 0 < len(looks) <= 2 < n_of_a_release
    enough = float(str(refused.value).split("epsilon = ")[1].split(";")[0])
    kepsilon.anonymise(source, policy_of(case, max_total_suppression=0.001, epsilon=enough), engine=own).close()


@pytest.mark.parametrize("case", [plain(), giant_among_others()], ids=["plain", "giant"])
@pytest.mark.parametrize("engine", EVERY)
def test_every_engine_refuses_the_same_single_risk_and_suggests_the_same_epsilon(engine, case, tmp_path):
    """The largest ε of three digits, found in a few passes over batches and large classes; it then passes."""
    source, own = case.write(tmp_path), ENGINES[engine](tmp_path, case.memory)
    limited = policy_of(case, max_individual_risk=0.6, epsilon=20)
    with pytest.raises(kepsilon.UnsatisfiableError) as here:
        kepsilon.check(source, limited)
    with pytest.raises(kepsilon.UnsatisfiableError) as there:
        kepsilon.anonymise(source, limited, engine=own)
    assert str(there.value) == str(here.value)
    enough = float(str(here.value).split("What would work, or may: epsilon = ")[1].split(",")[0])
    kepsilon.anonymise(source, limited.with_changes(epsilon=enough), engine=own).close()


def test_a_class_too_large_to_be_looked_at_refuses_its_cells_only(tmp_path):
    """With several ε-quasis a class has to be held whole; cells with smaller classes are worked out all the same."""
    columns = random_people(3_000)
    columns["weight"] = np.round(np.random.default_rng(1).normal(70, 12, 3_000), 1)
    case = Case(
        pa.table(columns),
        document(weight={"role": "epsilon-quasi", "precision": 0.1, "range": "class"}),
        memory=300_000,
    )
    grid = kepsilon.explore(
        case.write(tmp_path), policy_of(case, max_suppression=0), k=[5, 2_000], epsilon=1,
        algorithm="mondrian", engine=ENGINES["spilling"](tmp_path, case.memory),
    )  # fmt: skip
    small, large = grid.cells
    assert small.prediction is not None
    assert "the largest class has 3,000 records" in large.refused


def test_a_large_class_comes_in_parts_from_what_is_stored(tmp_path):
    """Every record of the class once, whatever buckets it is in."""
    case = CASES["giant among others"]()
    source = case.write(tmp_path)
    seen: list[tuple[bool, int]] = []
    honest = outlook.outlook_of_batch

    def look(batch, **rest):
        is_large = not hasattr(batch, "values")
        parts = list(batch.parts()) if is_large else [batch]
        seen.append((is_large, sum(len(part.class_ids) for part in parts)))
        return honest(batch, **rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outlook, "outlook_of_batch", look)
        found = kepsilon.check(source, policy_of(case), engine=ENGINES["spilling"](tmp_path, case.memory))
    assert any(is_large for is_large, _ in seen)
    assert sum(n for _, n in seen) == found.records.entering
    assert max(n for is_large, n in seen if is_large) == found.classes.largest


@pytest.mark.parametrize("most", [10, 100, 10_000])
def test_repeated_values_are_found_with_little_room(most):
    """Exactly with room for all; with less, half of them repeating is seen within a factor of two, and none as none."""
    starts = range(0, 5_000, 500)
    unique = [pa.chunked_array([pa.array([f"p{i}" for i in range(start, start + 500)])]) for start in starts]
    is_estimate = most < 5_000
    assert repetition(unique, most=most) == Repetition(n_distinct=5_000, n_records=5_000, is_estimate=is_estimate)
    found = repetition([*unique, *unique], most=most)
    assert (found.n_records, found.is_estimate) == (10_000, is_estimate)
    if not is_estimate:
        assert found.n_distinct == 5_000
    elif most == 100:  # 50 to 100 values are followed: five deviations of their number are within a factor of two
        assert 2_500 < found.n_distinct < 7_500
    assert repetition([pa.chunked_array([pa.nulls(7)])], most=most) == Repetition(n_distinct=0, n_records=0)


@pytest.mark.parametrize("most", [150, 1_000, 10_000])
@pytest.mark.parametrize("n_parts", [1, 7])
def test_what_repeats_is_counted_for_the_whole_column(most, n_parts):
    """4,096 values, of which the i-th is held by 1 + i mod 5 records: 2 of each repeat on average.

    Multiples of an odd number are spread evenly over 64 bits, so that whatever part of them is followed stands for all.
    """
    held = 1 + np.arange(4_096) % 5
    hashes = np.random.default_rng(SEED).permutation(np.repeat(np.arange(1, 4_097, dtype=np.uint64), held))
    followed = _Followed()
    for part in np.array_split(hashes, n_parts):
        followed.add(part)
        followed.shrink(most)
    n_repeated = int(np.sum(held - 1))
    if most > 4_096:
        assert (followed.n_repeated, followed.is_sample) == (n_repeated, False)
    else:
        assert followed.is_sample
        assert followed.n_repeated == pytest.approx(n_repeated, rel=0.15)


def test_a_value_that_comes_once_more_is_one_record_more():
    """By hand, with room for all and with room for half of them, where every record stands for two."""
    for hashes, n_repeated in (([], 0), ([3], 0), ([3, 3], 1), ([3, 3, 3, 8], 2), ([3, 3, 8, 8], 2)):
        followed = _Followed()
        followed.add(np.array(hashes, dtype=np.uint64))
        followed.shrink(5)
        assert followed.n_repeated == n_repeated
    # Those that begin with a 0 once they are mixed are followed: 1 and 2, which 3 records and 1 hold.
    mixed = np.array([1 << 63, 1, (1 << 63) + 1, 2], dtype=np.uint64)
    followed = _Followed()
    followed.add(np.repeat(mixed * np.uint64(pow(int(_MIXING), -1, 1 << 64)), [5, 3, 7, 1]))
    followed.shrink(2)
    assert (followed.n_repeated, followed.is_sample) == (2 * (3 - 1 + 1 - 1), True)


@pytest.mark.parametrize(
    ("values", "n_distinct"),
    [
        (pa.array([None, 3, 3, None]), 1),
        (pa.array(range(-20, 20)), 40),
        (pa.array([2**61 - 1, 0, 1, 2**61]), 4),
        (pa.array([float("nan"), float("nan"), 1.5, -1.0, -2.0]), 3),
        (pa.array(["\u00a0", "\u00a0 ", " ", "a\u00a0", " a", "b"]), 2),
        (pa.array([b"a", b"b", b"a"], pa.binary(1)), 2),
        (pa.array(["x", "y", "x"]).dictionary_encode(), 2),
        (pa.array([[1], [1]]), 2),
    ],
    ids=["nulls", "minus one", "beyond a hash", "NaN", "blanks", "bytes", "dictionary", "lists are not looked into"],
)
def test_values_of_any_type_are_told_apart(values, n_distinct):
    """By engines that hash them as by Arrow, which counts them."""
    chunked = pa.chunked_array([values])
    assert repetition([chunked], most=1_000).n_distinct == n_distinct
    if not pa.types.is_nested(values.type):
        plain_values = present(chunked)
        assert pc.count_distinct(plain_values, mode="only_valid").as_py() == n_distinct


def test_what_is_found_of_a_batch_is_small():
    """It holds ranges, sums and cells, of which there are hardly more for five times as many records."""
    import pickle

    sizes: list[list[int]] = []
    honest = outlook.outlook_of_batch

    def look(batch, **rest):
        found = honest(batch, **rest)
        sizes[-1].append(len(pickle.dumps(found)))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outlook, "outlook_of_batch", look)
        for n_records in (20_000, 100_000):
            sizes.append([])
            kepsilon.check(pa.table(random_people(n_records)), policy_of(plain()))
    few, many = map(max, sizes)
    assert many < 1.3 * few
    assert many < 2 * 100_000


def test_the_systems_folder_is_used_where_none_is_given(tmp_path, monkeypatch):
    """And left empty."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    source = tmp_path / "in"
    source.mkdir()
    kepsilon.check(plain().write(source), policy_of(plain()), memory="200MB")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
