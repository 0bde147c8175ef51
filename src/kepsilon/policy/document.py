# SPDX-License-Identifier: Apache-2.0
"""Reads the policy file, and words every mistake in it together with the key that it is about."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from kepsilon.errors import PolicyError, Problem
from kepsilon.json_values import Json
from kepsilon.policy.averages import LACKING, WHY_EPSILON, WHY_EPSILON_OF_SUMS, Averages, lacking_for_noise
from kepsilon.policy.choices import ALGORITHMS
from kepsilon.policy.roles import EpsilonQuasi, Identifier, Kept, KQuasi
from kepsilon.special_files import special_kind

ROLES = ("identifier", "k-quasi", "epsilon-quasi", "sensitive", "insensitive")
HIERARCHY_TYPES = ("mask", "intervals", "groups", "suppress", "dates", "file")


def read_document(path: Path) -> Json:
    """Keys and values of a policy file (TOML); PolicyError if it cannot be read."""
    kind = special_kind(path)
    if kind is not None:
        raise PolicyError(Problem(where=str(path), what=f"is {kind}, not a policy file."))
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise PolicyError(
            Problem(where=str(path), what=f"cannot read the policy: {error.strerror or 'unknown reason'}.")
        ) from None
    except UnicodeDecodeError:
        raise PolicyError(
            Problem(where=str(path), what="is not UTF-8 text.", fix="Save the policy as UTF-8.")
        ) from None
    except ValueError:
        raise PolicyError(Problem(where=str(path), what="holds a character that no file name can have.")) from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(Problem(where=str(path), what=f"is not valid TOML: {error}.")) from None
    except RecursionError:
        raise PolicyError(Problem(where=str(path), what="is nested too deeply to be a policy.")) from None
    except ValueError:  # Python reads no number of more than 4,300 digits
        raise PolicyError(Problem(where=str(path), what="holds a number of too many digits to be read.")) from None


def problems_of(
    error: ValidationError, document: Mapping[str, Any], *, name: str, top_keys: Collection[str]
) -> list[Problem]:
    """Every mistake that pydantic found in a document, worded for the curator.

    `name` is what messages call the document, `top_keys` are the top-level keys that a policy can have.
    """
    found = _without_echoes(error.errors(include_url=False))
    problems = [_problem(one, name, top_keys) for details in found for one in _apart(details)]
    if not any(details["type"] == "no_hierarchy" for details in found):
        # Pydantic checks the policy as a whole last, and not at all if the value of one key is wrong.
        problems += _missing_hierarchies(document, name)
    if not any(details["type"] == LACKING for details in found):
        problems += _lacking_for_noise(document, name)
    return list(dict.fromkeys(problems))  # a number is an int or a float, and NaN is neither: pydantic says so twice


def _without_echoes(found: list[ErrorDetails]) -> list[ErrorDetails]:
    """Without lists that are too short only because their values, which have mistakes of their own, do not count."""
    places = [details["loc"] for details in found]

    def is_echo(details: ErrorDetails) -> bool:
        own = details["loc"]
        return details["type"] == "too_short" and any(len(at) > len(own) and at[: len(own)] == own for at in places)

    return [details for details in found if not is_echo(details)]


def _apart(details: ErrorDetails) -> list[ErrorDetails]:
    """One error for each mistake that a hierarchy found in itself."""
    mistakes = details.get("ctx", {}).get("mistakes", ())
    return [{**details, "msg": mistake} for mistake in mistakes] or [details]


def missing_hierarchy_text(algorithm: str) -> str:
    """The message for a k-quasi that lacks the hierarchy that the algorithm needs."""
    return f'{ALGORITHMS[algorithm].title} needs a hierarchy here; the shortest is {{ type = "suppress" }}.'


def _missing_hierarchies(document: Mapping[str, Any], name: str) -> list[Problem]:
    attributes, algorithm = document.get("attributes"), document.get("algorithm")
    if not isinstance(attributes, Mapping) or algorithm not in ALGORITHMS.names():
        return []
    if not ALGORITHMS[algorithm].needs_hierarchies:
        return []
    lacking = [
        key
        for key, attribute in attributes.items()
        if isinstance(attribute, Mapping) and attribute.get("role") == "k-quasi" and "hierarchy" not in attribute
    ]
    return [Problem(where=f"{name}: attributes.{key}", what=missing_hierarchy_text(algorithm)) for key in lacking]


def _lacking_for_noise(document: Mapping[str, Any], name: str) -> list[Problem]:
    """What noise lacks in a document that has other mistakes, so that all are said at once."""
    attributes, averages = document.get("attributes"), document.get("averages")
    has_averages = averages is not None
    has_noise = not has_averages or (isinstance(averages, Mapping) and averages.get("noise") is True)
    if not isinstance(attributes, Mapping) or not has_noise:
        return []
    quasis = {
        key: own for key, own in attributes.items() if isinstance(own, Mapping) and own.get("role") == "epsilon-quasi"
    }
    if not quasis:
        return []
    lacking = lacking_for_noise(
        document.get("epsilon"),
        [] if has_averages else [key for key, own in quasis.items() if own.get("range") is None],
        why=WHY_EPSILON_OF_SUMS if has_averages else WHY_EPSILON,
    )
    return [Problem(where=f"{name}: {where}", what=what) for where, what in lacking]


def _problem(details: ErrorDetails, name: str, top_keys: Collection[str]) -> Problem:
    path = ".".join(_without_tags(details["loc"]))
    where = f"{name}: {path}" if path else name
    kind = details["type"]
    if kind == "missing":
        what = "is required and has no default: it decides what is promised."
    elif kind == "extra_forbidden":
        what = _belongs_elsewhere(details["loc"], top_keys)
        if what:
            return Problem(where=where, what=what)
        return Problem(where=where, what="is not a key of the policy.", fix=_closest_key(details["loc"], top_keys))
    elif kind == "union_tag_not_found":
        what = (
            f"needs a role: one of {', '.join(ROLES)}."
            if len(details["loc"]) == 2
            else f"needs a type: one of {', '.join(HIERARCHY_TYPES)}."
        )
    elif kind == "union_tag_invalid":
        known = ROLES if details.get("ctx", {}).get("discriminator") == "'role'" else HIERARCHY_TYPES
        what = f"has an unknown {'role' if known is ROLES else 'type'}; it should be one of {', '.join(known)}."
    elif kind == "model_type" and details["loc"] == ("averages",):
        what = "should be a table, such as { group = 20 }."
    elif kind == "too_short":
        what = "should not be empty."
    else:
        message = details["msg"]
        what = message[:1].lower() + message[1:] if message.startswith("Input ") else message
        what = what.removeprefix("input ").rstrip(".") + "."
    return Problem(where=where, what=what)


def _without_tags(location: tuple[int | str, ...]) -> list[str]:
    """The keys that lead to a mistake as they stand in the file, without the tags that pydantic adds for unions."""
    keys: list[str] = []
    tag_follows = False
    for i, key in enumerate(location):
        if tag_follows and key in (*ROLES, *HIERARCHY_TYPES):
            tag_follows = False
            continue
        if key in ("literal['class']", "CoarseSpecification", "int", "float", "str") or str(key).startswith("tuple["):
            continue
        keys.append(str(key))
        tag_follows = (i == 1 and location[0] == "attributes") or key == "hierarchy"
    return keys


def _belongs_elsewhere(location: tuple[int | str, ...], top_keys: Collection[str]) -> str:
    """Where a key of an attribute that its role does not have belongs; empty if nothing has such a key."""
    if len(location) != 4 or location[0] != "attributes":
        return ""
    models: dict[str, type[KQuasi | EpsilonQuasi]] = {"k-quasi": KQuasi, "epsilon-quasi": EpsilonQuasi}
    roles = [role for role, model in models.items() if location[-1] in model.model_fields]
    if roles:
        return f"is for {' and '.join(f'{role}s' for role in roles)} only."
    return "is a key of the whole policy, not of one attribute." if location[-1] in top_keys else ""


def _closest_key(location: tuple[int | str, ...], top_keys: Collection[str]) -> str:
    models = (Identifier, KQuasi, EpsilonQuasi, Kept)
    if location[0] == "averages":
        known: Collection[str] = Averages.model_fields
    elif len(location) == 1:
        known = top_keys
    else:
        known = {*top_keys, *(key for model in models for key in model.model_fields)}
    close = difflib.get_close_matches(str(location[-1]), list(known), n=1)
    return f"Did you mean {close[0]}?" if close else ""
