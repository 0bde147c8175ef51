# SPDX-License-Identifier: Apache-2.0
"""Draws policies that fit a table. `HOW` says for every setting how it is drawn; a new setting is one line there.

`test_settings.py` compares `HOW` with the schema of the policy, and fails with the name of a setting that is not in it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from rigs.columns import Column, decimal, with_commas
from rigs.label_meaning import as_text
from rigs.settings import all_keys, values_of

ABSENT: Any = object()
"""What a way to draw returns where the setting is not stated."""


@dataclass(kw_only=True)
class Scene:
    """What a setting may depend on: the table, what was drawn before it, and the column it is for."""

    rng: random.Random
    n_records: int
    columns: list[Column]
    document: dict[str, Any] = field(default_factory=dict)
    """The part of the policy that was drawn already."""
    column: Column = None  # type: ignore[assignment]
    """The column whose attribute is drawn."""
    attribute: dict[str, Any] = field(default_factory=dict)
    """What was drawn already of that attribute."""
    kind_of_averages: str = "neither"
    """Whether averages have noise, spread, or neither."""
    files: dict[str, str] = field(default_factory=dict)
    """Hierarchy files by name, to be written beside the policy."""
    mechanism: Any = None
    """The mechanism of all ε-quasis, as soon as it is drawn; ABSENT where none is stated."""

    def has(self, role: str) -> bool:
        return any(column.role == role for column in self.columns)


How = Callable[[Scene], Any]


def one_of(*values: Any) -> How:
    return lambda scene: scene.rng.choice(values)


def any_value(key: str) -> How:
    """One of the values that the schema lists: a new one is drawn as soon as the schema has it."""
    return lambda scene: scene.rng.choice(values_of(key))


def maybe(probability: float, how: How) -> How:
    return lambda scene: how(scene) if scene.rng.random() < probability else ABSENT


def only_if(condition: Callable[[Scene], Any], how: How) -> How:
    return lambda scene: how(scene) if condition(scene) else ABSENT


CODES = ("?", "NA", "99", "-1", " ", "", "unknown", "*", "null", "nan", "1e2")
"""Texts that may mean missing in any column."""


def _codes(scene: Scene) -> list[str]:
    """Texts that mean missing: some that occur in the column, or in any quasi for the list of all, and some others."""
    own = [scene.column] if scene.attribute else [column for column in scene.columns if "quasi" in column.role]
    occurring = sorted({as_text(value) or "" for column in own for value in column.values})
    return [
        *scene.rng.sample(occurring, min(len(occurring), scene.rng.choice([0, 1, 1, 2]))),
        *scene.rng.sample(CODES, scene.rng.choice([0, 1, 2])),
    ]


def _decimal(scene: Scene) -> str:
    """A decimal sign; with a comma, most quasis whose numbers are text are written so."""
    sign: str = scene.rng.choice(values_of("decimal"))
    for column in scene.columns:
        if sign == "," and "quasi" in column.role and column.holds == "numbers" and scene.rng.random() < 0.9:
            column.array = with_commas(column.array)
    return sign


def _k(scene: Scene) -> int:
    if any(column.holds == "persons" for column in scene.columns):  # they are far fewer than records
        return scene.rng.choice([2, 2, 3, 5])
    return scene.rng.choice([2, 2, 3, 5, 10, 25]) if scene.n_records >= 100 else scene.rng.choice([2, 2, 3])


def _person(scene: Scene) -> Any:
    """The column of persons, if there is one; sometimes another identifier, or none."""
    holding = [column.name for column in scene.columns if column.holds == "persons"]
    if holding:
        return holding[0] if scene.rng.random() < 0.85 else ABSENT
    identifiers = [column.name for column in scene.columns if column.role == "identifier"]
    return scene.rng.choice(identifiers) if identifiers and scene.rng.random() < 0.05 else ABSENT


def _records_are_persons(scene: Scene) -> Any:
    """Mostly stated where an identifier repeats and no person is, for the table is refused without it."""
    if "person" in scene.document:
        return ABSENT if scene.rng.random() < 0.98 else False
    texts = [[as_text(v) for v in column.values] for column in scene.columns if column.role == "identifier"]
    repeats = any(len(set(own)) < len(own) for own in texts)
    return scene.rng.choices([True, False, ABSENT], weights=[94, 3, 3] if repeats else [10, 10, 80])[0]


def _averages(scene: Scene) -> Any:
    """Averages, mostly where k lets them be; they have no noise of records, and confident k does not apply to them."""
    if not scene.has("epsilon-quasi") or (scene.document["k"] < 3 and scene.rng.random() < 0.97):
        return ABSENT
    return draw_into({}, "averages", scene) if scene.rng.random() < 0.4 else ABSENT


def _group(scene: Scene) -> int:
    """Members of a group: at least k, as it has to be, or rarely fewer."""
    k: int = scene.document["k"]
    return max(3, k + scene.rng.choice([0, 0, 1, 3, 10, 40])) if scene.rng.random() < 0.98 else 3


def _noise(scene: Scene) -> Any:
    """Noise and spread do not go together, so mostly one of them is drawn at the most."""
    kind = scene.rng.choice(["neither", "neither", "noise", "noise", "spread"])
    scene.kind_of_averages = kind
    return True if kind == "noise" else scene.rng.choice([False, ABSENT])


def _spread(scene: Scene) -> Any:
    if scene.kind_of_averages == "noise" and scene.rng.random() < 0.03:
        return True
    return True if scene.kind_of_averages == "spread" else scene.rng.choice([False, ABSENT])


def _draws_noise(scene: Scene) -> bool:
    """Whether ε is needed: noise is drawn for records, or for averages."""
    averages = scene.document.get("averages")
    return averages is None or bool(averages.get("noise"))


def _epsilon(scene: Scene) -> Any:
    value = one_of(0.0001, 0.01, 0.1, 0.5, 1, 1.0, 2, 3.7, 8, 100)(scene)
    return value if _draws_noise(scene) or scene.rng.random() < 0.2 else ABSENT


def _cap(scene: Scene) -> Any:
    """Needed where a person's records share ε. Without it they get one draw, and ε-quasis have to be constant for persons."""
    per = scene.document.get("epsilon_per")
    is_needed = per == "person" and "averages" in scene.document and scene.rng.random() < 0.95
    if not is_needed and ("person" not in scene.document or scene.rng.random() > (0.6 if per == "person" else 0.4)):
        if per == "person" and scene.rng.random() < 0.95:
            _make_constant(scene)
        return ABSENT
    is_tiny = per == "person" and scene.document["epsilon"] < 0.005  # none is left to share, and the policy is refused
    return 1 if is_tiny and scene.rng.random() < 0.9 else scene.rng.choice([1, 2, 3, 5, 40])


def _make_constant(scene: Scene) -> None:
    """Gives all records of a person the ε-quasis of the first of them."""
    (owner,) = (column for column in scene.columns if column.name == scene.document["person"])
    first: dict[str, int] = {}
    texts = [(as_text(value) or "").strip() for value in owner.values]
    rows = [first.setdefault(own, i) if own else i for i, own in enumerate(texts)]
    for column in scene.columns:
        if column.role == "epsilon-quasi":
            column.array = column.array.take(pa.array(rows, pa.int64()))


def _draws_once(scene: Scene) -> bool:
    """Whether all records of a person get one draw, which needs declared ranges and no missing values in classes."""
    is_of_persons = scene.document.get("epsilon_per") == "person" and "averages" not in scene.document
    return is_of_persons and "max_records_per_person" not in scene.document and scene.rng.random() < 0.98


def _max_suppression(scene: Scene) -> Any:
    """A limit; often none where the algorithm can do without."""
    can_do_without = scene.document["algorithm"] != "ola" and scene.rng.random() < 0.5
    return ABSENT if can_do_without else scene.rng.choice([0, 0.05, 0.1, 0.2, 0.5, 1, 1.0])


def _l_diversity(scene: Scene) -> dict[str, Any]:
    kind = scene.rng.choice(["distinct", "entropy", "recursive"])
    return {kind: HOW[f"attributes.sensitive.l_diversity.{kind}"](scene)}


def _attributes(scene: Scene) -> dict[str, Any]:
    """The attributes of all columns that have a role, in any order."""
    found: dict[str, Any] = {}
    for column in scene.rng.sample(scene.columns, len(scene.columns)):
        if column.role:
            scene.column, scene.attribute = column, {"role": column.role}
            draw_into(scene.attribute, f"attributes.{column.role}", scene)
            found[column.name] = scene.attribute
    return found


TYPES = {
    "codes": ("mask", "mask", "mask", "suppress", "file", "groups"),
    "categories": ("groups", "groups", "file", "suppress", "mask"),
    "numbers": ("intervals", "intervals", "intervals", "suppress", "mask"),
    "dates": ("dates", "dates", "dates", "suppress"),
    "flags": ("suppress", "groups", "file"),
}
"""Hierarchies that suit what a column holds."""


def _hierarchy(scene: Scene) -> Any:
    """A hierarchy that suits the column; sometimes none where the algorithm can do without."""
    if scene.document["algorithm"] != "ola" and scene.rng.random() < 0.5:
        return ABSENT
    kind = scene.rng.choice(TYPES[scene.column.holds])
    return draw_into({"type": kind}, f"attributes.k-quasi.hierarchy.{kind}", scene)


def _texts(scene: Scene) -> list[str]:
    """The values of the column as a hierarchy lists them; sometimes one is forgotten where that is allowed."""
    occurring = {
        str(value).lower() if isinstance(value, bool) else str(value)
        for value in scene.column.values
        if value is not None
    }
    listed = sorted(occurring | set(map(str, scene.column.pool)) - {""})
    if scene.attribute.get("unlisted") == "suppress" and len(listed) > 1 and scene.rng.random() < 0.5:
        listed.remove(scene.rng.choice(listed))
    return listed or ["nothing"]


def _in_groups(scene: Scene, members: list[str], name: str) -> dict[str, list[str]]:
    """The members in some groups, each in one."""
    n_groups = scene.rng.randint(1, max(1, len(members) // 2))
    groups: dict[str, list[str]] = {}
    for member in members:
        groups.setdefault(f"{name} {scene.rng.randrange(n_groups)}", []).append(member)
    return groups


def _levels(scene: Scene) -> list[dict[str, list[str]]]:
    first = _in_groups(scene, _texts(scene), "group")
    return [first] if scene.rng.random() < 0.5 else [first, _in_groups(scene, list(first), "upper")]


def _file(scene: Scene) -> str:
    """The name of a hierarchy file as ARX writes it, whose content is put beside the policy."""
    name = scene.rng.choice(["values.csv", "größe.csv", "a b.csv"]).replace(".csv", f"-{len(scene.files)}.csv")
    first = {v: label for label, vs in _in_groups(scene, _texts(scene), "part").items() for v in vs}
    rows = [[value, label, "*"] for value, label in first.items()]
    if scene.rng.random() < 0.15:  # without a single top label
        rows = [row[:2] for row in rows]
    if scene.rng.random() < 0.3:  # what null becomes
        rows.append(["", "unknown", "*"][: len(rows[0])])
    mark = scene.rng.choice(";,")
    quoted = ((f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row) for row in rows)
    scene.files[name] = "".join(mark.join(row) + "\n" for row in quoted)
    return name


def _plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


def _widths(scene: Scene) -> list[int | float]:
    first = scene.column.step * scene.rng.choice([1, 2, 5, 10])
    return [_plain(first * factor) for factor in scene.rng.choice([[1], [1, 2], [1, 2, 4], [1, 10]])]


def _step(scene: Scene) -> Any:
    """A step of the number line: needed where numbers have no hierarchy, allowed where they have one."""
    is_needed = "hierarchy" not in scene.attribute
    return (
        _plain(scene.column.step * scene.rng.choice([1, 2, 5, 10, 100]))
        if is_needed or scene.rng.random() < 0.3
        else ABSENT
    )


def _max_level(scene: Scene) -> Any:
    """A level that hierarchy or step have, mostly a high one, so that classes of k can still be made."""
    hierarchy = scene.attribute.get("hierarchy")
    if hierarchy is None:
        return scene.rng.choice([0, 2, 5, 60]) if "step" in scene.attribute else ABSENT
    by_type = {"intervals": "widths", "groups": "levels", "dates": "units"}
    kind = hierarchy["type"]
    if "step" in scene.attribute and kind not in ("intervals", "groups", "suppress"):
        return ABSENT  # labels on the step would reach beyond it
    height = len(hierarchy[by_type[kind]]) + 1 if kind in by_type else hierarchy.get("length", 1)
    below = scene.rng.choice([0, 0, 0, 1])
    if "step" in scene.attribute and below:
        return _level_on_step(scene, height)
    return max(0, height - below)


def _level_on_step(scene: Scene, height: int) -> Any:
    """The highest level of intervals whose bounds are on the step and whose width is 1, 2, 4, … steps; else the top."""
    hierarchy, step = scene.attribute["hierarchy"], Fraction(str(scene.attribute["step"]))
    if hierarchy["type"] != "intervals":
        return height
    origin = Fraction(str(hierarchy.get("origin", 0)))
    for level in range(height - 1, 0, -1):
        width = Fraction(str(hierarchy["widths"][level - 1]))
        steps = width / step
        if steps.denominator == 1 and steps.numerator.bit_count() == 1 and not origin % width:
            return level
    return height


def _units(scene: Scene) -> list[str]:
    return scene.rng.choice(
        [
            ["month", "quarter", "year"],
            ["day", "week"],
            ["day", "month", "year", "decade"],
            ["year"],
            ["week"],
            ["quarter", "decade"],
        ]
    )


def _length(scene: Scene) -> Any:
    """The length of codes: mostly stated where they differ in length, for then it must not come from the data."""
    lengths = {len(as_text(value) or "") for value in scene.column.values if value is not None} or {1}
    if scene.rng.random() > (0.95 if len(lengths) > 1 else 0.4):
        return ABSENT
    return min(100, max(lengths) + scene.rng.choice([0, 0, 2])) or 1


def _precision(scene: Scene) -> int | float:
    return _plain(scene.column.step * scene.rng.choice([1, 1, 1, 2, 10]))


def _bounds(scene: Scene) -> tuple[Fraction, Fraction, Fraction]:
    """Round bounds about the middle of the column that a person could have declared, and the precision."""
    precision = Fraction(str(scene.attribute["precision"]))
    low, high = min(scene.column.pool, default=Fraction(0)), max(scene.column.pool, default=Fraction(1))
    margin = max((high - low) * Fraction(scene.rng.choice([-1, 0, 1, 4]), 4), -(high - low) / 3)
    low, high = (low - margin) // precision, (high + margin) // precision + 1
    return low, max(high, low + scene.rng.choice([2, 10])), precision


def _declared(scene: Scene) -> list[int | float]:
    low, high, precision = _bounds(scene)
    return [_plain(low * precision), _plain(high * precision)]


def _mechanism(scene: Scene) -> Any:
    """One mechanism for all ε-quasis, because they have to have the same; rarely another for one of them."""
    drawn = maybe(0.4, any_value("attributes.epsilon-quasi.mechanism"))
    if "averages" in scene.document and scene.rng.random() < 0.98:  # these have no mechanism
        return ABSENT
    if scene.mechanism is None:
        scene.mechanism = drawn(scene)
    return scene.mechanism if scene.rng.random() < 0.99 else drawn(scene)


def _range(scene: Scene) -> Any:
    """A range that the mechanism takes, mostly; averages without noise have none."""
    averages = scene.document.get("averages")
    if averages is not None and scene.rng.random() < 0.95:
        return _declared(scene) if averages.get("noise") else ABSENT
    _mechanism(scene)
    kinds = ["class", "class", "coarse", "declared"]
    if scene.mechanism == "bounded-laplace" and scene.rng.random() < 0.98:
        kinds = ["coarse", "declared"]
    kind = "declared" if _draws_once(scene) else scene.rng.choice(kinds)
    if kind == "coarse":
        return draw_into({}, "attributes.epsilon-quasi.range", scene)
    return "class" if kind == "class" else _declared(scene)


def _coarse(scene: Scene) -> int | float:
    return _plain(Fraction(str(scene.attribute["precision"])) * scene.rng.choice([1, 5, 20]))


def _label(scene: Scene) -> str:
    return scene.rng.choice(["*", "any", "Person", "<b>any</b>", "", "=any", '"any"', "a, b", "null", "{x}"])


REASONS = ("made-up records", "<b>öffentlich</b> & bekannt", '=public("yes"), \\n', "x" * 500, "שלום 日本 {0} %s")
"""Why a kept column may be published though it gives people away, or a quasi though it is useless; the manifest and the
report print it."""

# The order of the keys is the order in which settings are drawn.
HOW: dict[str, How] = {
    "k": _k,
    "averages": _averages,
    "averages.group": _group,
    "averages.noise": _noise,
    "averages.spread": _spread,
    "epsilon": _epsilon,
    "algorithm": any_value("algorithm"),
    "max_suppression": _max_suppression,
    "confidence": maybe(
        0.3,
        only_if(
            lambda scene: scene.has("epsilon-quasi") and "averages" not in scene.document,
            one_of(0.5, 0.9, 0.99, 0.999999),
        ),
    ),
    "confidence_rule": maybe(0.7, only_if(lambda scene: "confidence" in scene.document, any_value("confidence_rule"))),
    "max_total_suppression": maybe(0.15, one_of(0.1, 0.5, 0.9, 1)),
    "max_individual_risk": maybe(0.12, one_of(0.2, 0.9, 1, 1.0)),
    "max_risk": maybe(0.12, one_of(0.3, 0.9, 1, 1.0)),
    "person": _person,
    "epsilon_per": only_if(
        lambda scene: "person" in scene.document and scene.has("epsilon-quasi") and _draws_noise(scene),
        any_value("epsilon_per"),
    ),
    "max_records_per_person": _cap,
    "records_are_persons": _records_are_persons,
    "loss": maybe(0.5, any_value("loss")),
    "labels": maybe(0.5, any_value("labels")),
    "unlisted_columns": lambda scene: "drop" if scene.has("") else maybe(0.3, any_value("unlisted_columns"))(scene),
    "decimal": maybe(0.3, _decimal),
    "missing_values": maybe(0.2, _codes),
    "attributes": _attributes,
    "attributes.k-quasi.unlisted": maybe(0.4, any_value("attributes.k-quasi.unlisted")),
    "attributes.k-quasi.missing_values": maybe(0.2, _codes),
    "attributes.k-quasi.hierarchy": _hierarchy,
    "attributes.k-quasi.step": only_if(lambda scene: scene.column.holds == "numbers", _step),
    "attributes.k-quasi.importance": maybe(0.3, one_of(1, 0.01, 0.5, 2, 5.0, 1000)),
    "attributes.k-quasi.max_level": maybe(0.2, _max_level),
    "attributes.k-quasi.hierarchy.mask.side": maybe(0.5, any_value("attributes.k-quasi.hierarchy.mask.side")),
    "attributes.k-quasi.hierarchy.mask.char": maybe(0.3, one_of("*", "#", "x", "0", "é", "-", " ", "\U0001f600")),
    "attributes.k-quasi.hierarchy.mask.length": _length,
    "attributes.k-quasi.hierarchy.mask.label": maybe(0.3, _label),
    "attributes.k-quasi.hierarchy.intervals.widths": _widths,
    "attributes.k-quasi.hierarchy.intervals.origin": maybe(0.3, one_of(0, 1, -0.5, 1900, 0.25)),
    "attributes.k-quasi.hierarchy.intervals.label": maybe(0.3, _label),
    "attributes.k-quasi.hierarchy.groups.levels": _levels,
    "attributes.k-quasi.hierarchy.groups.label": maybe(0.3, _label),
    "attributes.k-quasi.hierarchy.suppress.label": maybe(0.3, _label),
    "attributes.k-quasi.hierarchy.dates.units": _units,
    "attributes.k-quasi.hierarchy.dates.format": lambda scene: scene.column.date_format or ABSENT,
    "attributes.k-quasi.hierarchy.dates.label": maybe(0.3, _label),
    "attributes.k-quasi.hierarchy.file.path": _file,
    "attributes.k-quasi.accept_useless": maybe(0.95, one_of(*REASONS)),
    "attributes.epsilon-quasi.precision": _precision,
    "attributes.epsilon-quasi.range": _range,
    "attributes.epsilon-quasi.range.coarse": _coarse,
    "attributes.epsilon-quasi.mechanism": _mechanism,
    "attributes.epsilon-quasi.missing": maybe(
        0.5,
        lambda scene: (
            "suppress" if _draws_once(scene) else scene.rng.choice(values_of("attributes.epsilon-quasi.missing"))
        ),
    ),
    "attributes.epsilon-quasi.missing_values": maybe(0.2, _codes),
    "attributes.epsilon-quasi.domain": maybe(0.3, _declared),
    "attributes.epsilon-quasi.accept_useless": maybe(0.95, one_of(*REASONS)),
    "attributes.sensitive.accept_leak": maybe(0.7, one_of(*REASONS)),
    "attributes.sensitive.l_diversity": maybe(0.2, _l_diversity),
    "attributes.sensitive.l_diversity.distinct": one_of(2, 2, 3),
    "attributes.sensitive.l_diversity.entropy": one_of(1.2, 1.5, 2, 2.5),
    "attributes.sensitive.l_diversity.recursive": one_of([3, 2], [2, 2], [0.5, 3], [10.0, 3]),
    "attributes.sensitive.t_closeness": maybe(0.15, one_of(0.2, 0.5, 0.9, 1)),
    "attributes.insensitive.accept_leak": maybe(0.7, one_of(*REASONS)),
}
"""How each setting is drawn: a function of the scene that returns the value, or ABSENT."""


def draw_into(table: dict[str, Any], path: str, scene: Scene) -> dict[str, Any]:
    """Adds to a table of the policy all settings that lie directly below a path, as `HOW` says."""
    for key, how in HOW.items():
        above, _, own = key.rpartition(".")
        if above == path and key in all_keys():
            value = how(scene)
            if value is not ABSENT:
                table[own] = value
    return table


def draw_policy(scene: Scene) -> dict[str, Any]:
    """A policy document for the columns of a scene."""
    return draw_into(scene.document, "", scene)


def toml(document: Mapping[str, Any]) -> str:
    """A policy document as the text of a policy file."""
    attributes = document.get("attributes") or ABSENT
    own = attributes if isinstance(attributes, Mapping) else {}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in document.items() if key != "attributes" or not own]
    for name, attribute in own.items():
        lines.append(f"[attributes.{_key(name)}]")
        lines += [f"{_key(key)} = {_value(value)}" for key, value in attribute.items()]
    return "\n".join(lines) + "\n"


def _key(key: str) -> str:
    return key if key.isascii() and key.replace("_", "").replace("-", "").isalnum() else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(own)}" for key, own in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return str(value) if not isinstance(value, Fraction | Decimal) else str(decimal(Fraction(value)))
