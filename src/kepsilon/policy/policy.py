# SPDX-License-Identifier: Apache-2.0
"""The policy as a value that was checked as a whole: roles, hierarchies, k, ε and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from kepsilon.errors import ArgumentError, PolicyError, Problem, guarded
from kepsilon.json_values import Json
from kepsilon.policy.averages import Averages, refuse_unfit
from kepsilon.policy.choices import ALGORITHMS, MECHANISMS, OneOf
from kepsilon.policy.document import missing_hierarchy_text, problems_of, read_document
from kepsilon.policy.exact_bounds import EXACT, FINEST_BITS, LARGEST_EPSILON, SMALLEST_EPSILON
from kepsilon.policy.hierarchies import FileHierarchy
from kepsilon.policy.hierarchies.levels import Specification
from kepsilon.policy.level_steps import refuse_steps_beyond_levels
from kepsilon.policy.person_settings import refuse_contradictions
from kepsilon.policy.reading import DecimalSign, MissingValues, Reading
from kepsilon.policy.roles import Attribute, EpsilonQuasi, Identifier, Kept, KQuasi, Number, fraction

Share = Annotated[Number, Field(ge=0, le=1)]

_OLD_LABELS = {"tight": "siblings", "cut": "ancestor"}
"""What replaces the label styles of version 0.1."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a policy was read from. Two policies that say the same are equal, wherever they came from."""

    file: Path | None = field(compare=False)


class Policy(Specification):
    """What the curator wants. k, ε, the algorithm and the suppression limit decide the promise and have no defaults."""

    k: Annotated[int, Field(ge=2, lt=EXACT, strict=True)]
    epsilon: Annotated[Number, Field(ge=float(SMALLEST_EPSILON), le=int(LARGEST_EPSILON))] | None = None
    """How far apart noise lets the chances of two values be; required where noise is drawn."""
    algorithm: Annotated[str, OneOf(ALGORITHMS)]
    max_suppression: Share = Field(default_factory=lambda: None, validate_default=True)
    """Share of the records that may be left out to reach k: OLA has to be told, the others leave none out by default."""
    confidence: Annotated[Number, Field(gt=0, lt=1)] | None = None
    """Leave out records that noise left with too few originals to hide among, at this confidence; off by default."""
    confidence_rule: Literal["text", "strict", "suppress_zero"] = "text"
    """What becomes of a record that noise has moved away from every original of its class."""
    max_total_suppression: Share | None = None
    """Limit on the share of the records read that leaves for any cause, confident k as expected; checked before any draw."""
    max_individual_risk: Annotated[Number, Field(gt=0, le=1)] | None = None
    """Limit on how sure an attacker who matches whole classes one to one can be of any record; checked before any draw."""
    max_risk: Share | None = None
    """Limit on the share of records that any attacker who needs only the quasis is expected to link; checked before any draw."""
    person: str | None = None
    """The column that says whom a record is about, an identifier: k then counts persons, not records."""
    epsilon_per: Literal["person", "record"] | None = None
    """Whether ε covers all records of a person together, or each record by itself; stated with `person`, where there is noise."""
    max_records_per_person: Annotated[int, Field(ge=1, lt=EXACT, strict=True)] | None = None
    """How many records of one person are released at the most; with `epsilon_per = "person"` they share ε."""
    records_are_persons: Annotated[bool, Field(strict=True)] = False
    """States that no person has several records, although values of an identifier repeat."""
    averages: Averages | None = None
    """Publish averages of near neighbours instead of single values with noise; off by default."""
    loss: Literal["ncp", "entropy", "precision", "dm*"] = "ncp"
    """What OLA minimises."""
    labels: Literal["siblings", "ancestor"] = "siblings"
    """For local algorithms: labels that say what occurs in a class, or the region of hierarchy or number line that holds it."""
    unlisted_columns: Literal["error", "drop"] = "error"
    missing_values: MissingValues = ("",)
    """Texts of quasis that mean missing, such as "?" or "99"; empty cells always do."""
    decimal: DecimalSign = "."
    """The decimal sign of numbers that are text in the input; a release has points."""
    attributes: Annotated[dict[str, Attribute], Field(min_length=1)]
    _origin: Origin = PrivateAttr(default_factory=lambda: Origin(None))

    @model_validator(mode="after")
    def _remember_file(self, info: ValidationInfo) -> Self:
        self._origin = Origin((info.context or {}).get("file"))
        return self

    @model_serializer(mode="wrap")
    def _written(self, write: SerializerFunctionWrapHandler) -> Json:
        """The policy as a document: with averages there is no mechanism, so the default is not written."""
        document: Json = write(self)
        for attribute in document.get("attributes", {}).values() if self.averages is not None else ():
            attribute.pop("mechanism", None)
        return document

    @field_validator("max_suppression", mode="before")
    @classmethod
    def _stated_where_needed(cls, value: object, info: ValidationInfo) -> object:
        """0 where nothing is stated and the algorithm can do without."""
        if value is None and "algorithm" in info.data and not ALGORITHMS[info.data["algorithm"]].suppresses_freely:
            return 0
        if value is None:
            raise PydanticCustomError("missing", "is required")
        return value

    @field_validator("labels", mode="before")
    @classmethod
    def _labels_of_version_0_1(cls, value: object) -> object:
        """Refuses the labels of version 0.1, whose bounds were values of single records."""
        instead = _OLD_LABELS.get(value) if isinstance(value, str) else None
        if instead is not None:
            raise PydanticCustomError(
                "labels",
                'labels = "{old}" is no more, because most of the bounds it published were values of single records; '
                'write labels = "{instead}", and a step at every k-quasi of numbers',
                {"old": value, "instead": instead},
            )
        return value

    @model_validator(mode="after")
    def _has_something_to_protect(self) -> Self:
        if not self.k_quasis and not self.epsilon_quasis:
            raise PydanticCustomError(
                "no_quasi", "no attribute is a k-quasi or an epsilon-quasi; nothing would be protected"
            )
        mechanisms = list(dict.fromkeys(attribute.mechanism for attribute in self.epsilon_quasis.values()))
        if len(mechanisms) > 1:
            raise PydanticCustomError(
                "mechanisms",
                "all epsilon-quasis should have one mechanism, because a record is one unit; there are {named}",
                {"named": " and ".join(mechanisms)},
            )
        most = MECHANISMS[mechanisms[0]].most_attributes if mechanisms else 0
        if len(self.epsilon_quasis) > most:
            raise PydanticCustomError(
                "epsilon_quasis", "at most {most} attributes can be epsilon-quasis", {"most": most}
            )
        if self.confidence is not None and not self.epsilon_quasis:
            raise PydanticCustomError(
                "confidence",
                "confidence needs an epsilon-quasi: without noise every record hides among its class already",
            )
        if self.confidence is None and self.confidence_rule != "text":
            raise PydanticCustomError(
                "confidence_rule", "confidence_rule does nothing without confidence; state confidence, or take it out"
            )
        refuse_unfit(self)
        for name, attribute in self.epsilon_quasis.items() if self.draws_noise else ():
            # A range has at most 2^24 units, and noise beyond 64 times its expected size has probability below e^−64.
            units = 2**FINEST_BITS * (len(self.epsilon_quasis) + 1) * 64 / self.record_epsilon
            if units * fraction(attribute.precision).numerator >= EXACT // 2:
                raise PydanticCustomError(
                    "precision",
                    "attributes.{name}.precision: with so small an epsilon, noise in steps of this precision would not fit "
                    "into a double; use fewer digits or a larger epsilon",
                    {"name": name},
                )
        if ALGORITHMS[self.algorithm].needs_hierarchies:
            lacking = [name for name, attribute in self.k_quasis.items() if attribute.hierarchy is None]
            if lacking:
                where = ", ".join(f"attributes.{name}" for name in lacking)
                what = missing_hierarchy_text(self.algorithm)
                raise PydanticCustomError("no_hierarchy", "{where}: {what}", {"where": where, "what": what})
        if not ALGORITHMS[self.algorithm].has_levels:
            refuse_steps_beyond_levels(self.k_quasis, shows_regions=self.labels == "ancestor")
        return self

    @model_validator(mode="after")
    def _says_what_a_person_is(self) -> Self:
        """Refuses settings about persons that contradict each other, or that leave open what ε covers."""
        refuse_contradictions(self)
        return self

    @classmethod
    @guarded
    def from_file(cls, path: str | Path) -> Policy:
        """The policy in a TOML file; every mistake in it is reported at once, with its path."""
        path = Path(path)
        return _checked(read_document(path), name=path.name, folder=path.parent, file=path.absolute())

    @classmethod
    @guarded
    def from_dict(cls, document: Mapping[str, Any], *, folder: str | Path = ".") -> Policy:
        """The policy in a mapping with the keys of the policy file; hierarchy files are looked for in `folder`."""
        return _checked(document, name="policy", folder=Path(folder))

    @property
    def identifiers(self) -> tuple[str, ...]:
        return tuple(name for name, attribute in self.attributes.items() if isinstance(attribute, Identifier))

    @property
    def k_quasis(self) -> dict[str, KQuasi]:
        return {name: attribute for name, attribute in self.attributes.items() if isinstance(attribute, KQuasi)}

    @property
    def epsilon_quasis(self) -> dict[str, EpsilonQuasi]:
        return {name: attribute for name, attribute in self.attributes.items() if isinstance(attribute, EpsilonQuasi)}

    @property
    def kept(self) -> tuple[str, ...]:
        return tuple(name for name, attribute in self.attributes.items() if isinstance(attribute, Kept))

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Kept columns whose values a person would not want known."""
        return tuple(name for name in self.kept if self.attributes[name].role == "sensitive")

    @property
    def diverse(self) -> tuple[str, ...]:
        """Sensitive columns whose values every class has to meet a requirement about."""
        return tuple(
            name
            for name, attribute in self.attributes.items()
            if isinstance(attribute, Kept) and attribute.asks_for_diversity
        )

    @property
    def accepted_leaks(self) -> dict[str, str]:
        """Kept columns that may be published though they give people away, each with the curator's reason."""
        return self._reasons("accept_leak")

    @property
    def accepted_useless(self) -> dict[str, str]:
        """Quasis that may be published though next to nothing is left of them, each with the curator's reason."""
        return self._reasons("accept_useless")

    def _reasons(self, key: str) -> dict[str, str]:
        """The reasons that attributes state under a key."""
        stated = {name: getattr(attribute, key, None) for name, attribute in self.attributes.items()}
        return {name: reason for name, reason in stated.items() if reason is not None}

    @property
    def file(self) -> Path | None:
        """The file that the policy was read from; None if it was made from a mapping."""
        return self._origin.file

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that hierarchies were read from."""
        return tuple(self.hierarchy_files.values())

    @property
    def hierarchy_files(self) -> dict[str, Path]:
        """The file that each k-quasi's hierarchy was read from, where it was read from one."""
        hierarchies = {name: attribute.hierarchy for name, attribute in self.k_quasis.items()}
        return {name: own.file for name, own in hierarchies.items() if isinstance(own, FileHierarchy)}

    @property
    def notes(self) -> tuple[Problem, ...]:
        """What the curator should know of how hierarchy files and numbers were read, and of settings without effect."""
        hierarchies = [attribute.hierarchy for attribute in self.k_quasis.values()]
        found = [note for own in hierarchies if isinstance(own, FileHierarchy) for note in own.notes]
        if self.decimal == ",":
            what = (
                "numbers of the input are read with a decimal comma. The release has decimal points, in every format."
            )
            found.append(Problem(where="decimal", what=what))
        if self.epsilon is not None and not self.draws_noise:
            what = "nothing is drawn with it, so it promises nothing, and the manifest leaves it out."
            found.append(Problem(where="epsilon", what=what, fix="Take it out of the policy."))
        if self.loss == "dm*" and any(own.importance != 1 for own in self.k_quasis.values()):
            what = "OLA does not weigh attributes where it minimises dm*, so importance has no effect there."
            found.append(Problem(where="loss", what=what, fix='Use loss = "ncp".'))
        return tuple(found)

    @property
    def readings(self) -> dict[str, Reading]:
        """How the cells of each quasi are read."""
        quasis: dict[str, KQuasi | EpsilonQuasi] = {**self.k_quasis, **self.epsilon_quasis}
        found = {}
        for name, own in quasis.items():
            texts = self.missing_values if own.missing_values is None else own.missing_values
            found[name] = Reading(missing_values=texts, decimal=self.decimal)
        return found

    @property
    def draws_noise(self) -> bool:
        """Whether anything is drawn with ε."""
        return bool(self.epsilon_quasis) and (self.averages is None or self.averages.noise)

    @property
    def is_drawn(self) -> bool:
        """Whether chance decides about published values, so that two releases of the same records differ."""
        return self.draws_noise or (self.averages is not None and self.averages.spread)

    @property
    def stated_epsilon(self) -> float:
        """ε as the policy states it; 1 where nothing is drawn with it, so that no figure depends on it."""
        return self.epsilon if self.draws_noise and self.epsilon is not None else 1

    @property
    def exact_epsilon(self) -> Fraction:
        """ε as the policy states it, exactly."""
        return fraction(self.stated_epsilon)

    @property
    def record_epsilon(self) -> Fraction:
        """ε of the noise of one record."""
        return self.epsilon_of_a_record(self.stated_epsilon)

    def epsilon_of_a_record(self, epsilon: float) -> Fraction:
        """ε of the noise of one record, where the policy's ε is this one: a share of it where a person's records share ε."""
        shares = self.max_records_per_person if self.epsilon_per == "person" else None
        return fraction(epsilon) / (shares or 1)

    @property
    def draws_once_per_person(self) -> bool:
        """Whether all records of a person get one draw: ε covers the person, and no number of records shares it."""
        return self.epsilon_per == "person" and self.max_records_per_person is None and self.averages is None

    @property
    def joining_tells(self) -> bool:
        """Whether whoever knows which records are one person's learns more than figures for records that nobody joins say.

        Where records share ε, what is promised holds for all of them together, joined or not.
        """
        return self.epsilon_per == "record" or self.draws_once_per_person

    @guarded
    def with_changes(self, **changes: Any) -> Policy:
        """A policy with other values of some top-level keys, checked again as a whole; None removes a key.

        Attributes cannot be changed. Removing `confidence` removes `confidence_rule` too, and with averages mechanisms,
        which these do not have, are taken out.
        """
        if "attributes" in changes:
            raise ArgumentError("attributes are not changed here; build a policy with Policy.from_dict")
        return self._changed({}, changes)

    @guarded
    def with_attributes(self, attributes: Mapping[str, Json], **changes: Any) -> Policy:
        """A policy where some attributes have other roles and settings, and some top-level keys other values.

        `attributes` gives, by name, all settings of each attribute that is replaced; `changes` are as for `with_changes`.
        """
        return self._changed(attributes, changes)

    def _changed(self, attributes: Mapping[str, Json], changes: Mapping[str, Any]) -> Policy:
        """The policy with other attributes and top-level keys, checked as a whole; hierarchy files are not read again."""
        document = {**self.model_dump(mode="json", exclude_none=True), **changes}
        document["attributes"] = {**document["attributes"], **{name: {**own} for name, own in attributes.items()}}
        if document.get("confidence") is None:
            document["confidence_rule"] = None
        if document.get("averages") is not None:
            for name in self.epsilon_quasis:
                document["attributes"][name].pop("mechanism", None)
        for name, attribute in self.k_quasis.items():
            if attribute.hierarchy is not None and name not in attributes:
                document["attributes"][name]["hierarchy"] = attribute.hierarchy
        stated = {key: value for key, value in document.items() if value is not None}
        return _checked(stated, name="policy", folder=Path(), file=self.file)

    def averaging(self, group: int) -> Json:
        """What `with_changes` has to change for averages of groups of this size, with noise if the policy's averages have it.

        Averages without noise need no ε, and confident k does not apply to them.
        """
        own = {} if self.averages is None else self.averages.model_dump(mode="json")
        changes: Json = {"averages": {**own, "group": group}, "confidence": None, "confidence_rule": None}
        return changes if own.get("noise") else {**changes, "epsilon": None, "epsilon_per": None}

    @property
    def may_suppress(self) -> bool:
        """Whether the algorithm may leave any record out, which some do only where something keeps records apart."""
        facts = ALGORITHMS[self.algorithm]
        divides = any(own.max_level is not None for own in self.k_quasis.values())
        divides |= any(own.missing == "class" for own in self.epsilon_quasis.values())
        return facts.may_suppress and self.max_suppression > 0 and (facts.suppresses_freely or divides)

    def most_suppressed(self, n_records: int) -> int:
        """How many of `n_records` records the algorithm may leave out: `max_suppression` as written, in whole records."""
        return int(fraction(self.max_suppression) * n_records) if self.may_suppress else 0


def _checked(document: Mapping[str, Any], *, name: str, folder: Path, file: Path | None = None) -> Policy:
    """The policy in a document that messages call `name`, read from `file`; hierarchy files are looked for in `folder`."""
    try:
        return Policy.model_validate(document, context={"folder": folder, "file": file})
    except ValidationError as error:
        problems = problems_of(error, document, name=name, top_keys=set(Policy.model_fields))
        raise PolicyError(problems) from None


def json_schema() -> Json:
    """The JSON Schema of the policy file, for editors."""
    schema = Policy.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "kepsilon policy"
    return schema
