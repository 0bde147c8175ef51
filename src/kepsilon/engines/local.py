# SPDX-License-Identifier: Apache-2.0
"""Arrow and NumPy on this machine, in memory."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kepsilon.engines.files import CODED_TEXT, FileSource, decoded, writer_for
from kepsilon.engines.frames import FrameSource
from kepsilon.engines.numpy_arrays import from_numpy, from_texts, in_one_piece, null_mask, to_doubles, to_positions
from kepsilon.engines.protocol import Distinct, LeftOut, Shuffle
from kepsilon.errors import DataError, Problem
from kepsilon.policy.roles import Attribute, ColumnRoles, EpsilonQuasi, KQuasi
from kepsilon.table.arrays import BoolArray, FloatArray, IntArray
from kepsilon.table.classes import SUPPRESSED, Recoding
from kepsilon.table.codes import Domain, Label, code_domain
from kepsilon.table.domains import place_values
from kepsilon.table.frequency import FrequencyTable, count_combinations

name = "local"


def open_source(source: object) -> LocalSource:
    """A path or a frame, known by its columns and not read yet."""
    if isinstance(source, str | Path):
        return LocalSource(FileSource(Path(source)))
    return LocalSource(FrameSource(source))


class LocalSource:
    def __init__(self, source: FileSource | FrameSource) -> None:
        self._source = source
        self.name = source.name
        self.column_names = source.column_names

    def read(self, roles: ColumnRoles) -> LocalColumns:
        """The columns to publish; identifiers are not even taken from the file."""
        table = self._source.arrow_table(roles.published, coded=roles.k_quasis)
        if table.num_rows == 0:
            raise DataError(Problem(where=self.name, what="has a header, but no records."))
        return LocalColumns(_movable(table), roles, self._source)

    def n_distinct(self, column: str) -> tuple[int, int]:
        """Distinct non-null values of one column, and how many records hold one; nothing else of it is kept."""
        values = _movable(self._source.arrow_table([column])).column(0)
        if pa.types.is_nested(values.type) or pa.types.is_null(values.type):
            n_valid = len(values) - values.null_count
            return n_valid, n_valid
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        return pc.count_distinct(values, mode="only_valid").as_py(), len(values) - values.null_count

    def offending(self, column: str, attribute: Attribute) -> list[tuple[str, int]]:
        values, codes = _encode(_movable(self._source.arrow_table([column])).column(0), column, self.name)
        counts = np.bincount(codes, minlength=len(values))
        if isinstance(attribute, KQuasi):
            wrong = ~place_values(column, attribute, values).is_covered
        elif isinstance(attribute, EpsilonQuasi):
            wrong = np.array([value is not None and not _is_finite_number(value) for value in values], dtype=np.bool_)
        else:
            wrong = np.zeros(len(values), dtype=np.bool_)
        found = [(str(values[i]), int(counts[i])) for i in np.flatnonzero(wrong)]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))


class LocalColumns:
    """The columns that will be published, and after `count` the combination of every record that stays."""

    def __init__(self, table: pa.Table, roles: ColumnRoles, source: FileSource | FrameSource) -> None:
        self._table = table
        self._roles = roles
        self._source = source
        self.n_records: int = table.num_rows
        self._codes: dict[str, IntArray] = {}
        self._numbers: dict[str, FloatArray] = {}
        self._integers: set[str] = set()
        self._stays: IntArray | None = None
        self._combination: IntArray = np.zeros(0, dtype=np.int32)

    def distinct(self, name: str) -> Distinct:
        values, codes = _encode(self._table.column(name), name, self._source.name)
        self._codes[name] = codes
        self._table = self._table.drop_columns([name])  # codes are all that is needed from here on
        return Distinct(values=values, counts=np.bincount(codes, minlength=len(values)))

    def numbers(self, name: str) -> FloatArray:
        if name not in self._numbers:
            column = self._table.column(name)
            self._numbers[name] = _as_doubles(column, name, self._source.name)
            if pa.types.is_integer(column.type):
                self._integers.add(name)
            self._table = self._table.drop_columns([name])
        return self._numbers[name]

    def count(
        self,
        domains: Mapping[str, tuple[Domain, IntArray]],
        *,
        drop_missing: Sequence[str],
        missing_in_class: Sequence[str],
    ) -> tuple[FrequencyTable, LeftOut]:
        unlisted = np.zeros(self.n_records, dtype=np.bool_)
        for name, (_, codes) in domains.items():
            if (codes < 0).any():
                unlisted |= (codes < 0)[self._codes[name]]
        missing = np.zeros(self.n_records, dtype=np.bool_)
        for name in drop_missing:
            missing |= np.isnan(self.numbers(name))
        # Each record is reported once; unlisted comes first because it is the curator's list that decides.
        missing &= ~unlisted
        if unlisted.any() or missing.any():
            self._stays = np.flatnonzero(~(unlisted | missing))
        stays = slice(None) if self._stays is None else self._stays
        n_staying = self.n_records if self._stays is None else len(self._stays)

        columns: list[IntArray] = []
        all_domains: list[Domain] = []
        for name, (domain, codes) in domains.items():
            narrow = codes.astype(np.int16 if domain.n_values < 1 << 15 else np.int32)
            columns.append(np.take(narrow, self._codes.pop(name)[stays]))
            all_domains.append(domain)
        for name in missing_in_class:
            domain, is_missing = _missingness(name, np.isnan(self.numbers(name)[stays]))
            columns.append(is_missing)
            all_domains.append(domain)
        table, self._combination = count_combinations(columns, all_domains, n_records=n_staying, rank=_rank)
        return table, LeftOut(missing=int(missing.sum()), unlisted=int(unlisted.sum()))

    def staying_numbers(self, name: str) -> FloatArray:
        """An ε-quasi of the records that stayed, shape (n_staying,)."""
        values = self.numbers(name)
        return values if self._stays is None else values[self._stays]

    def by_class(self, recoding: Recoding) -> IntArray:
        """Class id of every record that stayed, or SUPPRESSED, shape (n_staying,)."""
        return recoding.class_of.astype(np.int32, copy=False)[self._combination]

    def merge(
        self,
        recoding: Recoding,
        class_ids: IntArray,
        published: Mapping[str, FloatArray],
        *,
        whole: Collection[str],
        shuffle: Shuffle,
    ) -> LocalMerged:
        """Labels, noisy values and untouched columns of the released records in one shuffled table.

        Algorithm 1, lines 8 to 10. Every column is taken anew, so that no value of a record that was left out is
        kept alive by a shared buffer, a dictionary or metadata. `published` holds the noisy values of
        the released records in the order of the input; `whole` names the ε-quasis with a whole precision.
        """
        self._numbers.clear()
        released = np.flatnonzero(class_ids != SUPPRESSED)
        order = shuffle(len(released))
        released = released[order]
        class_ids = class_ids[released]
        rows = released if self._stays is None else self._stays[released]
        labels = dict(zip(self._roles.k_quasis, recoding.attributes, strict=False))
        fields, columns = [], []
        for name in self._roles.published:
            if name in labels:
                column = _label_column(labels[name].labels, labels[name].of_class, class_ids)
                field = pa.field(name, column.type, metadata=CODED_TEXT)
            elif name in published:
                stays_whole = name in whole and name in self._integers
                column = _number_column(published[name][order], stays_whole=stays_whole)
                field = pa.field(name, column.type)
            else:
                before = self._table.schema.field(name)
                column = _taken(self._table.column(name), rows)
                is_text_outside = before.metadata == CODED_TEXT or not pa.types.is_dictionary(before.type)
                is_coded = is_text_outside and pa.types.is_dictionary(column.type)
                field = pa.field(name, column.type, metadata=CODED_TEXT if is_coded else None)
                self._table = self._table.drop_columns([name])
            columns.append(column)
            fields.append(field)
        table = pa.Table.from_arrays(columns, schema=pa.schema(fields))
        return LocalMerged(table, rows, class_ids, self._source)


class LocalMerged:
    """The released records, shuffled, not yet written."""

    def __init__(
        self, table: pa.Table, original_rows: IntArray, class_ids: IntArray, source: FileSource | FrameSource
    ) -> None:
        self._table = table
        self._source = source
        self.n_records: int = table.num_rows
        self.original_rows = original_rows
        self.class_ids = class_ids

    def frame(self) -> Any:
        """The release as the kind of object that was read; Arrow where a file was read."""
        table = decoded(self._table)
        return self._source.like(table) if isinstance(self._source, FrameSource) else table

    def write(self, target: Path, *, final_name: Path) -> None:
        """Writes to `target` what the suffix of `final_name` asks for."""
        dialect = getattr(self._source, "dialect", None)
        writer_for(final_name, delimiter=dialect.delimiter if dialect else ",")(self._table, target)

    def linkage(self) -> pa.Table:
        """Which original record each released record was: for the curator only."""
        columns = {
            "original_row": self.original_rows.astype(np.int64),
            "released_row": np.arange(self.n_records, dtype=np.int64),
            "class_id": self.class_ids.astype(np.int64),
        }
        return pa.table({name: from_numpy(values) for name, values in columns.items()})


def _encode(column: pa.ChunkedArray, name: str, source: str) -> tuple[tuple[Label, ...], IntArray]:
    """Distinct values as text (null last, as None), and the position of every record's value among them."""
    if pa.types.is_nested(column.type):
        raise DataError(
            Problem(where=f'{source}: column "{name}"', what="holds lists or structures, not single values.")
        )
    is_coded = pa.types.is_dictionary(column.type)
    column = _with_one_dictionary(column) if is_coded else column.dictionary_encode()
    array = in_one_piece(column)
    try:
        texts: list[Label] = array.dictionary.cast(pa.string()).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            Problem(where=f'{source}: column "{name}"', what="holds values that are not text or numbers.")
        ) from None
    # A dictionary may list a value twice, list null, or list values that no record holds.
    positions: dict[Label, int] = {}
    remap = np.array([positions.setdefault(text, len(positions)) for text in [*texts, None]], dtype=np.int32)
    codes = remap[to_positions(array.indices, null=len(texts))]
    occurs = np.bincount(codes, minlength=len(positions)) > 0
    if not occurs.all():
        codes = (np.cumsum(occurs, dtype=np.int32) - 1)[codes]
    return tuple(value for value, found in zip(positions, occurs, strict=True) if found), codes


def _with_one_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Chunks that share a dictionary; Arrow cannot unify dictionaries that list null, so those are made anew."""
    try:
        return column.unify_dictionaries()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return column.cast(column.type.value_type).dictionary_encode()


def _as_doubles(column: pa.ChunkedArray, name: str, source: str) -> FloatArray:
    where = f'{source}: column "{name}"'
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = _parsed(column, where)
    is_number = (
        pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)
    )
    if not is_number:
        raise DataError(
            Problem(
                where=where,
                what=f"is an epsilon-quasi, but holds {column.type}, not numbers.",
                fix="Give it another role.",
            )
        )
    # A null becomes NaN here, so NaN in excess of the nulls was NaN in the data.
    values: FloatArray = to_doubles(column)
    n_wrong = len(values) - int(np.count_nonzero(np.isfinite(values))) - column.null_count
    if n_wrong:
        raise DataError(
            Problem(
                where=where,
                what=f"{n_wrong:,} records hold NaN or an infinity, which no noise can hide.",
                fix="Write missing values as null (an empty cell).",
            )
        )
    return values


def _parsed(column: pa.ChunkedArray, where: str) -> pa.ChunkedArray:
    """Numbers given as text; blank is missing."""
    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid:  # blanks around numbers, or instead of them
        text = pc.utf8_trim_whitespace(column.cast(pa.string()))
        text = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid:
        is_number = pc.match_substring_regex(text, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
        n_wrong = pc.sum(pc.invert(is_number)).as_py() or 0
        raise DataError(
            Problem(
                where=where,
                what=f"is an epsilon-quasi, but {n_wrong:,} records hold text that is not a number.",
                fix="They are not shown, because they come from records. To see them here: kepsilon check --show-values "
                "with this column\nWrite missing values as an empty cell, and numbers with a decimal point.",
            )
        ) from None


def _is_finite_number(text: str) -> bool:
    try:
        return not text.strip() or math.isfinite(float(text))
    except ValueError:
        return False


def _missingness(name: str, is_missing: BoolArray) -> tuple[Domain, IntArray]:
    """Whether an ε-quasi is missing, as an attribute of one level: it is visible, so it is part of the class."""
    texts = ["present", "missing"]
    occurring = [i for i, found in enumerate([not is_missing.all(), bool(is_missing.any())]) if found]
    domain, codes = code_domain(f"{name} is missing", [[texts[i] for i in occurring]], generalises=False)
    of_flag = np.zeros(2, dtype=np.int16)
    of_flag[occurring] = codes
    return domain, of_flag[is_missing.astype(np.int8)]


def _rank(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Distinct keys in rising order and the position of each, by Arrow's hash table instead of a sort of all keys."""
    coded = from_numpy(keys).dictionary_encode()
    distinct = to_positions(coded.dictionary, null=0)
    order = np.argsort(distinct)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return distinct[order], place[to_positions(coded.indices, null=0)]


def _label_column(labels: Sequence[Label], of_class: IntArray, class_ids: IntArray) -> pa.DictionaryArray:
    """What a k-quasi shows in every record; a null label is a null, not an entry of the dictionary."""
    index_type = np.int8 if len(labels) < 1 << 7 else np.int16 if len(labels) < 1 << 15 else np.int32
    texts = [label for label in labels if label is not None]
    position = np.zeros(len(labels), dtype=index_type)
    position[[label is not None for label in labels]] = np.arange(len(texts))
    is_null = np.array([label is None for label in labels], dtype=np.bool_)
    indices = from_numpy(position[of_class][class_ids], is_null=is_null[of_class][class_ids] if is_null.any() else None)
    return pa.DictionaryArray.from_arrays(indices, from_texts(texts))


def _number_column(values: FloatArray, *, stays_whole: bool) -> pa.Array:
    """Noisy values; integers stay integers where the precision (not the noise) says so."""
    column = from_numpy(values, is_null=np.isnan(values))
    return column.cast(pa.int64()) if stays_whole else column


def _taken(column: pa.ChunkedArray, rows: IntArray) -> pa.Array | pa.ChunkedArray:
    """The values of some records, with nothing of the others: dictionaries hold used entries only."""
    if pa.types.is_dictionary(column.type):
        return _taken_dictionary(in_one_piece(_with_one_dictionary(column)), rows)
    if (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)) and _repeats(column):
        return _taken_dictionary(in_one_piece(column.dictionary_encode()), rows)
    return in_one_piece(column).take(from_numpy(rows))


def _repeats(column: pa.ChunkedArray) -> bool:
    """Whether text repeats so often that moving positions in a dictionary is faster than moving text."""
    head = column.slice(0, 100_000)
    return len(head) > 0 and pc.count_distinct(head).as_py() < len(head) / 20


def _taken_dictionary(array: pa.DictionaryArray, rows: IntArray) -> pa.DictionaryArray:
    taken = array.indices.take(from_numpy(rows))
    used = np.unique(to_positions(taken.drop_null(), null=0))
    renumbered = np.zeros(max(1, len(array.dictionary)), dtype=np.int32)
    renumbered[used] = np.arange(len(used))
    is_null = null_mask(taken)
    indices = from_numpy(renumbered[to_positions(taken, null=0)], is_null=is_null)
    dictionary = array.dictionary.take(from_numpy(used.astype(np.int64)))
    return pa.DictionaryArray.from_arrays(indices, dictionary, ordered=array.type.ordered)


def _movable(table: pa.Table) -> pa.Table:
    """The same table in types whose records Arrow can move: views become text, dictionaries inside others values.

    Metadata of the file stays behind; it can say anything.
    """
    fields = []
    for field in table.schema:
        mark = CODED_TEXT if field.metadata == CODED_TEXT else None
        fields.append(pa.field(field.name, _movable_type(field.type), metadata=mark))
    schema = pa.schema(fields)
    return (
        table.replace_schema_metadata(None) if schema.equals(table.schema, check_metadata=True) else table.cast(schema)
    )


def _movable_type(kind: pa.DataType, *, inside: bool = False) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_dictionary(kind):
        values = _movable_type(kind.value_type)
        return values if inside else pa.dictionary(kind.index_type, values, ordered=kind.ordered)
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _movable_type(f.type, inside=True), f.nullable) for f in kind])
    if pa.types.is_list(kind):
        return pa.list_(_movable_type(kind.value_type, inside=True))
    if pa.types.is_large_list(kind):
        return pa.large_list(_movable_type(kind.value_type, inside=True))
    return kind
