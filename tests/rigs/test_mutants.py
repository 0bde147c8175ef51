# SPDX-License-Identifier: Apache-2.0
"""Could the rigs notice? The package is broken on purpose, one promise at a time, and the rigs must say which."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from kepsilon import count, draw, errors
from kepsilon.engines.local import columns as local
from kepsilon.engines.local.merged import LocalMerged
from kepsilon.errors import DataError, Problem
from kepsilon.files.atomic import Staging
from kepsilon.grid.grid import Grid
from kepsilon.kanonymise import first_parts
from kepsilon.kanonymise.requirements.k_persons import KPersons
from kepsilon.kanonymise.requirements.l_diversity import LDiversity
from kepsilon.kanonymise.requirements.t_closeness import TCloseness
from kepsilon.pipeline import anonymise as pipeline
from kepsilon.pipeline import check as checked
from kepsilon.predict.predict import Predicted
from kepsilon.publish import release as written
from rigs import fuzz, honest, surroundings
from rigs.cases import Case, draw_case
from rigs.commands import HangsError, Outcome, limited_time
from rigs.faults import draw_fault, is_faulty
from rigs.label_meaning import covers
from rigs.settings import settings_of
from rigs.surroundings import SURROUNDINGS, Signal, draw_surroundings, wrong_ending

MOST_CASES = 60
"""A mutant has to be noticed within the first cases; most are in the first ten."""

drawn = cache(draw_case)
"""Cases that several tests look through for those they need."""


def sound_cases() -> Iterator[Case]:
    """Cases without a fault, one after the other."""
    return (drawn(seed) for seed in itertools.count() if not is_faulty(seed))


def first_noticed(try_case, what: str | tuple[str, ...], *, seeds: Iterable[int] = range(MOST_CASES)) -> int | None:
    """The first case in which a rig says that `what` is wrong."""
    for seed in seeds:
        if any(failure.startswith(what) for failure in try_case(seed).failures):
            return seed
    return None


def foreign_values(*kinds: str) -> Iterator[int]:
    """Some cases of those kinds of input that hold a value which their hierarchy most likely does not list."""
    faulty = (drawn(seed) for seed in itertools.count() if is_faulty(seed))
    spoiled = (case.seed for case in faulty if case.kind in kinds and draw_fault(case)[1].name.startswith("foreign"))
    return itertools.islice(spoiled, 6)


def changed_tables(monkeypatch, change):
    """Lets a function change every table that is about to be published in memory; it is handed the table and its roles."""
    proper = LocalMerged.__init__

    def made(self, table_of, *arguments, **options):
        proper(self, lambda rows: change(table_of(rows)), *arguments, **options)

    monkeypatch.setattr(LocalMerged, "__init__", made)


def rotated(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.take(pa.array(np.roll(np.arange(len(column)), 1)))


def with_columns(table: pa.Table, chosen, change) -> pa.Table:
    """The table with some columns changed, their fields as they were."""
    for i, field in enumerate(table.schema):
        if chosen(field):
            table = table.set_column(i, field, change(table.column(i)).cast(field.type))
    return table


def is_label(field: pa.Field) -> bool:
    """Whether a column holds labels: they are marked as text that is a dictionary only in memory."""
    return field.metadata is not None and pa.types.is_dictionary(field.type)


def test_serial_numbers_that_are_not_looked_for_are_noticed(monkeypatch):
    """Kept columns are measured, but nobody refuses what they give away."""
    monkeypatch.setattr(Predicted, "leaks", lambda self, policy: [])
    seeds = (seed for seed in itertools.count() if _is_refused_for_a_serial_number(drawn(seed)))
    assert first_noticed(fuzz.try_case, "kept columns: a serial", seeds=itertools.islice(seeds, 6)) is not None


def _is_refused_for_a_serial_number(case) -> bool:
    """Whether a case has a column that rises with its rows, and no reason why it may be published."""
    kept = case.of_role("sensitive", "insensitive")
    rising = (column.name for column in kept if column.values == sorted(set(map(str, column.values))))
    return any("accept_leak" not in case.document["attributes"][name] for name in rising) and case.n_records > 30


def test_classes_of_k_minus_one_are_noticed(monkeypatch):
    """Classes are made for k − 1: the package stumbles over them later, and the rig says so."""
    proper = pipeline.k_anonymise
    smaller = lambda table, policy: proper(table, policy.with_changes(k=max(2, policy.k - 1)))  # noqa: E731
    monkeypatch.setattr(pipeline, "k_anonymise", smaller)
    # No k is smaller than 2, and most classes of a large k are larger than that.
    seeds = (case.seed for case in sound_cases() if case.document["k"] == 3)
    what = ("k: ", "exit code 1: anonymise: (ValueError at evaluate")
    assert first_noticed(fuzz.try_case, what, seeds=itertools.islice(seeds, MOST_CASES)) is not None


def asking_for(*names: str, but: str = "") -> Iterator[int]:
    """Some cases in memory, without a fault, whose policies have some settings, and one of them not."""
    possible = (case for case in sound_cases() if case.engine == "in memory" and (case.is_frame or case.with_linkage))
    used = ((case.seed, settings_of(case.document)) for case in possible)
    return itertools.islice((seed for seed, own in used if own.issuperset(names) and but not in own), 30)


def nothing_asked(kind):
    """Takes a requirement out: no policy asks for it."""
    return lambda monkeypatch: monkeypatch.setattr(kind, "asked_by", classmethod(lambda cls, policy, *, k: ()))


def no_cap(monkeypatch):
    monkeypatch.setattr(local, "are_beyond_cap", lambda persons, rows, *, most: np.zeros(len(rows), dtype=bool))


def nobody_unknown(monkeypatch):
    proper = local.code_persons
    known = lambda own: replace(own, is_known=np.ones_like(own.is_known))  # noqa: E731
    monkeypatch.setattr(local, "code_persons", lambda *arguments: known(proper(*arguments)))


def capped_as_missing(monkeypatch):
    proper = local.LocalColumns.leave_out

    def left_out(self, *arguments, **options):
        found = proper(self, *arguments, **options)
        return replace(found, missing=found.missing + found.by_cap, by_cap=0)

    monkeypatch.setattr(local.LocalColumns, "leave_out", left_out)


def draws_of_others(monkeypatch):
    proper = draw._take_drawn

    def shifted(*arguments):
        noisy = proper(*arguments)
        return replace(noisy, published=np.roll(noisy.published, 1, axis=0))

    monkeypatch.setattr(draw, "_take_drawn", shifted)


def persons_published(monkeypatch):
    """Somebody's own identifier stands among the labels."""
    proper, seen = local.code_persons, []

    def remembering(column, *arguments):
        seen.append(str(column.drop_null()[0]))
        return proper(column, *arguments)

    def telling(column):
        return pa.chunked_array([pa.array([seen[-1], *column.to_pylist()[1:]], pa.string()).dictionary_encode()])

    monkeypatch.setattr(local, "code_persons", remembering)
    changed_tables(monkeypatch, lambda table: with_columns(table, is_label, telling) if seen else table)


@pytest.mark.parametrize(
    ("mutate", "seeds", "what"),
    [
        pytest.param(nothing_asked(KPersons), asking_for("person"), "persons: a class of", id="k by records"),
        pytest.param(no_cap, asking_for("max_records_per_person"), "persons: somebody has more", id="no cap"),
        pytest.param(capped_as_missing, asking_for("max_records_per_person"), "records: ", id="capped as missing"),
        pytest.param(nobody_unknown, asking_for("person"), "persons: a record is released", id="records of nobody"),
        pytest.param(
            draws_of_others,
            asking_for("epsilon_per = person", but="max_records_per_person"),
            "persons: released values of one person differ",
            id="several draws",
        ),
        pytest.param(persons_published, asking_for("person"), "files: the release holds", id="persons published"),
        pytest.param(
            nothing_asked(LDiversity),
            asking_for("attributes.sensitive.l_diversity"),
            "diversity: a class does not meet",
            id="no l-diversity",
        ),
        pytest.param(
            nothing_asked(TCloseness),
            asking_for("attributes.sensitive.t_closeness"),
            "closeness: a class is further",
            id="no t-closeness",
        ),
    ],
)
def test_broken_promises_about_persons_and_sensitive_values_are_noticed(monkeypatch, mutate, seeds, what):
    """Each is one promise that the package no longer keeps."""
    mutate(monkeypatch)
    assert first_noticed(fuzz.try_case, what, seeds=seeds) is not None


def test_a_record_that_leaves_its_class_is_noticed(monkeypatch):
    """One record shows a label that nobody else has."""

    def alone(column):
        return pa.chunked_array([pa.array(["unlike", *column.to_pylist()[1:]], pa.string()).dictionary_encode()])

    changed_tables(monkeypatch, lambda table: with_columns(table, is_label, alone))
    assert first_noticed(fuzz.try_case, "k: ") is not None


def test_labels_of_other_records_are_noticed(monkeypatch):
    """Every record shows the labels of the record before it; all counts stay."""
    changed_tables(monkeypatch, lambda table: with_columns(table, is_label, rotated))
    assert first_noticed(fuzz.try_case, "labels: ") is not None


def test_kept_cells_of_other_records_are_noticed(monkeypatch):
    """Every record shows the kept text of the record before it: no value is lost, and every one is wrong."""
    changed_tables(monkeypatch, lambda table: with_columns(table, lambda f: pa.types.is_string(f.type), rotated))
    seeds = (case.seed for case in sound_cases() if case.is_frame and case.of_role("sensitive", "insensitive"))
    assert first_noticed(fuzz.try_case, "kept columns: ", seeds=itertools.islice(seeds, MOST_CASES)) is not None


def test_values_off_the_precision_are_noticed(monkeypatch):
    """Digits beyond the precision could carry anything."""

    def nudged(column):
        return pa.chunked_array([pa.array(np.nextafter(column.to_numpy(), np.inf), from_pandas=True)])

    changed_tables(monkeypatch, lambda table: with_columns(table, lambda f: f.type == pa.float64(), nudged))
    assert first_noticed(fuzz.try_case, "precision: ") is not None


def test_a_value_in_a_message_is_noticed(monkeypatch):
    """The error about unlisted values says which they are."""

    def telling(placed, counts):
        wrong = [value for value, found in zip(placed.values, placed.is_covered, strict=True) if not found]
        return [Problem(where=placed.name, what=f"unlisted: {wrong}")] if wrong else []

    monkeypatch.setattr(count, "refused_values", telling)
    assert first_noticed(fuzz.try_case, "value: ", seeds=foreign_values("csv", "tsv", "parquet")) is not None


def test_a_value_in_the_cause_of_an_error_is_noticed(monkeypatch):
    """The message is clean, the exception that it comes from is not, and nothing takes that one away at the end."""
    proper = pipeline.read_and_count

    def careless(source, *arguments, **options):
        try:
            return proper(source, *arguments, **options)
        except DataError as error:
            raise DataError(error.problems) from ValueError(str(fuzz.tables.from_frame(source).to_pydict()))

    monkeypatch.setattr(pipeline, "read_and_count", careless)
    monkeypatch.setattr(errors, "_shows_causes", lambda: True)
    assert first_noticed(fuzz.try_case, "value: ", seeds=foreign_values("arrow table", "polars", "pandas")) is not None


def test_a_bug_is_noticed(monkeypatch):
    """It ends with exit code 1, and in Python with an error that is none of ours."""

    def falls_over(table, policy):
        raise RuntimeError("a bug")

    monkeypatch.setattr(pipeline, "k_anonymise", falls_over)
    assert first_noticed(fuzz.try_case, "exit code 1: anonymise") is not None


@pytest.mark.parametrize(
    "leave",
    [tempfile.mkdtemp, lambda: os.open(tempfile.gettempdir(), os.O_RDONLY)],
    ids=["a folder", "a lock"],
)
def test_what_is_left_over_is_noticed(monkeypatch, leave):
    """Records on disk after the end, or a folder that stays locked."""
    proper, left = pipeline.k_anonymise, []

    def untidy(table, policy):
        left.append(leave())
        return proper(table, policy)

    monkeypatch.setattr(pipeline, "k_anonymise", untidy)
    assert first_noticed(fuzz.try_case, "left over: ") is not None
    for descriptor in left:
        if isinstance(descriptor, int):
            os.close(descriptor)


def test_files_that_everybody_can_read_are_noticed(monkeypatch):
    """The curator's record is for its owner only."""
    proper = Staging.new_file
    monkeypatch.setattr(Staging, "new_file", lambda self, final, *, owner_only: proper(self, final, owner_only=False))
    before = os.umask(0o022)
    try:
        assert first_noticed(fuzz.try_case, "files: one that is for the owner only") is not None
    finally:
        os.umask(before)


def test_a_changed_input_is_noticed(monkeypatch):
    """Whatever happens, nothing that was there before is touched."""

    def made(self, *arguments, **options):
        proper(self, *arguments, **options)
        for path in self.inputs:
            path.write_bytes(path.read_bytes() + b"\n")

    proper = LocalMerged.__init__
    monkeypatch.setattr(LocalMerged, "__init__", made)
    assert first_noticed(fuzz.try_case, "input: anonymise changed") is not None


def with_command(name: str) -> Iterator[int]:
    """Some cases of files without a fault in which a further command is run."""
    found = (case.seed for case in sound_cases() if name in case.also and not case.is_frame)
    return itertools.islice(found, 30)


def test_a_policy_of_explore_that_cannot_be_met_is_noticed(monkeypatch):
    """It loads, and asks for a class of a million records."""
    proper = Grid.changes
    monkeypatch.setattr(Grid, "changes", lambda self, cell: {**proper(self, cell), "k": 10**6})
    assert first_noticed(fuzz.try_case, "explore: the policy that it writes", seeds=with_command("explore")) is not None


def test_a_policy_of_explore_that_is_another_one_is_noticed(monkeypatch):
    """Its own limit on what is left out is weakened on the way."""
    proper = Grid.changes
    monkeypatch.setattr(Grid, "changes", lambda self, cell: {**proper(self, cell), "max_total_suppression": 0.999})
    what = "explore: the policy that it writes differs in more"
    assert first_noticed(fuzz.try_case, what, seeds=with_command("explore")) is not None


def test_a_grid_that_everybody_can_read_is_noticed(monkeypatch):
    """What cells cost and risk tells about the records."""
    proper = Staging.new_file
    monkeypatch.setattr(Staging, "new_file", lambda self, final, *, owner_only: proper(self, final, owner_only=False))
    before = os.umask(0o022)
    try:
        assert first_noticed(fuzz.try_case, "explore: the grid, which", seeds=with_command("explore")) is not None
    finally:
        os.umask(before)


def test_a_value_in_a_grid_is_noticed(monkeypatch):
    """The grid, in whatever form, ends with the bytes of the files that were read."""

    def telling(self, path, choice=None, *, overwrite=False):
        proper(self, path, choice, overwrite=overwrite)
        read = [own.path for own in self.inputs if own.path.is_file()]
        path.write_bytes(path.read_bytes() + b"\n".join(own.read_bytes() for own in read))

    proper = Grid.write
    monkeypatch.setattr(Grid, "write", telling)
    assert first_noticed(fuzz.try_case, "value: ", seeds=with_command("explore")) is not None


def test_values_of_another_column_are_noticed(monkeypatch):
    """`check --show-values` shows those of the whole table."""
    monkeypatch.setattr(
        checked,
        "offending_values",
        lambda source, policy, column: [(source.read_bytes().decode("latin-1"), 1)] if source.is_file() else [],
    )
    assert first_noticed(fuzz.try_case, "value: ", seeds=with_command("show values")) is not None


@pytest.mark.parametrize(
    ("notes", "what"),
    [(lambda names: (), "nobody says so"), (lambda names: names, "somebody says that it changes")],
    ids=["silence", "a false note"],
)
def test_a_wrong_note_on_types_is_noticed(monkeypatch, notes, what):
    """Nothing is said of a type that the output cannot hold, or all columns are said to change."""

    def lost_types(path, input_types, *, final_name):
        return notes(tuple(Problem(where="", what=f'"{name}" was something else.') for name in input_types))

    def try_case(seed):
        return [
            failure.partition(", and ")[2] for failure in fuzz.try_case(seed).failures if failure.startswith("types: ")
        ]

    monkeypatch.setattr(written, "lost_types", lost_types)
    assert any(what in try_case(seed) for seed in range(MOST_CASES))


def surrounded(monkeypatch, *names: str) -> Iterator[int]:
    """Some cases with these surroundings; a case of its own process takes a second."""
    monkeypatch.setattr(surroundings, "SURROUNDED", 1.0)
    cases = (drawn(seed) for seed in itertools.count())
    found = (case.seed for case in cases if getattr(draw_surroundings(case), "name", "") in names)
    return itertools.islice(found, 8)


@pytest.mark.parametrize(
    ("names", "mutant", "what"),
    [
        pytest.param(
            ("full stdout", "closed stdout"),
            "import kepsilon.cli.surroundings as s; s.RunState.released = ''",
            "a release is there, and exit code 2 without a word of it",
            id="a release that nobody mentions",
        ),
        pytest.param(
            ("interrupted", "full disk"),
            "import kepsilon.files.atomic as a; a.Staging.close = a.Staging.__exit__ = lambda self, *_: None",
            "a part of a release is there",
            id="no tidying up",
        ),
        pytest.param(
            ("full disk", "output in no place"),
            "import kepsilon.cli.main as m\ndef end(error, state): raise error\nm.end = end",
            "a traceback",
            id="an error that nobody words",
        ),
        pytest.param(
            ("full disk", "output in no place"),
            "import kepsilon.cli.main as m; m.end = lambda error, state: 0",
            "exit code 0, and nothing is there",
            id="a failure that counts as done",
        ),
    ],
)
def test_a_wrong_ending_is_noticed(monkeypatch, names, mutant, what):
    """The package is broken in the other process."""
    monkeypatch.setenv(surroundings.MUTANT, mutant)
    seeds = surrounded(monkeypatch, *names)
    assert (
        first_noticed(fuzz.try_case, tuple(f"surroundings: {name}: {what}" for name in names), seeds=seeds) is not None
    )


def test_a_release_that_is_denied_is_noticed():
    """Whoever reads "nothing was released" draws a second one."""
    around = next(own for own in SURROUNDINGS if own.name == "interrupted")
    denied = Outcome(name="anonymise", code=130, out="", err="kepsilon: interrupted; nothing was released.\n")
    sent = Signal(number=2, at=5)
    assert not list(wrong_ending(around, sent, denied, new=[], wanted=["out.csv"]))
    assert any("is denied" in own for own in wrong_ending(around, sent, denied, new=["out.csv"], wanted=["out.csv"]))


def test_a_command_that_hangs_is_noticed():
    """Or the rig would wait with it; whether it works or waits, and although a public function hides what stopped it."""
    with pytest.raises(HangsError), limited_time(0.05):
        time.sleep(5)
    with pytest.raises(HangsError), limited_time(0.05):
        sum(0 for _ in iter(int, 1))  # endless work
    with pytest.raises(HangsError), limited_time(0.05), contextlib.suppress(BaseException):
        time.sleep(5)


def test_a_command_that_a_busy_machine_slows_down_is_not_accused():
    """It waits for longer than it may work."""
    with limited_time(0.2):
        time.sleep(0.5)


def test_an_accusation_is_noticed(monkeypatch):
    """The rig of honest releases hands on what an audit calls broken, with linkage and without."""
    changed_tables(monkeypatch, lambda table: with_columns(table, lambda f: pa.types.is_string(f.type), rotated))
    assert first_noticed(honest.try_case, "accused with its linkage: kept columns") is not None
    assert first_noticed(honest.try_case, "accused without linkage: ") is not None


@pytest.mark.parametrize(
    ("label", "value", "hierarchy", "is_covered"),
    [
        ("[10, 20)", "12", {"type": "intervals", "widths": [10]}, True),
        ("[10, 20)", "20", {"type": "intervals", "widths": [10]}, False),
        ("[10, 20]", 20, None, True),
        ("(10, 20]", 10, None, False),
        ("null or [10, 20]", None, None, True),
        ("[10, 20]", None, None, False),
        ("{a, null}", None, None, True),
        ("{a, b}", "c", None, False),
        ("12***", "12345", {"type": "mask"}, True),
        ("13***", "12345", {"type": "mask"}, False),
        ("***45", "12345", {"type": "mask", "side": "left"}, True),
        ("2020-Q2", "2020-04-01", {"type": "dates", "units": ["quarter"]}, True),
        ("2020-Q1", "2020-04-01", {"type": "dates", "units": ["quarter"]}, False),
        ("g", "x", {"type": "groups", "levels": [{"g": ["x"], "h": ["y"]}]}, True),
        ("h", "x", {"type": "groups", "levels": [{"g": ["x"], "h": ["y"]}]}, False),
        ("<= 5", "6", None, False),
        (None, "6", None, False),
    ],
)
def test_labels_are_read_as_they_are_documented(label, value, hierarchy, is_covered):
    """The reader of labels can say no."""
    assert covers(label, value, hierarchy, {}) is is_covered


def limited_locally(seed):
    """Whether the case of a seed has a local algorithm, and a k-quasi with a highest level."""
    document = draw_case(seed, only_releasable=True).document
    return document["algorithm"] != "ola" and any("max_level" in own for own in document["attributes"].values())


def test_labels_beyond_the_highest_level_are_noticed(monkeypatch):
    """Local algorithms that do not keep the nodes of `max_level` apart."""
    monkeypatch.setattr(first_parts, "_nodes", lambda domain, _: np.zeros(domain.n_values, dtype=np.int64))
    seeds = itertools.islice(filter(limited_locally, itertools.count()), MOST_CASES)
    assert first_noticed(honest.try_case, ("accused with its linkage: labels",), seeds=seeds) is not None
