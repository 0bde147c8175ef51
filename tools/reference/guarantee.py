# SPDX-License-Identifier: Apache-2.0
"""The page of sentences that a manifest can promise, made by the code that words them, each with where its proof is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kepsilon.policy.guarantee import attacker_in_words, single_risk_in_words, statement
from kepsilon.policy.policy import Policy

Document = dict[str, Any]

ZIP = {"role": "k-quasi", "hierarchy": {"type": "suppress"}}
DECLARED = {"role": "epsilon-quasi", "precision": 0.1, "range": [30, 200]}
COARSE = {"role": "epsilon-quasi", "precision": 0.1, "range": {"coarse": 5}}
CLASS = {"role": "epsilon-quasi", "precision": 0.1, "range": "class"}
BOUNDED = {"mechanism": "bounded-laplace"}
SENSITIVE: Document = {"role": "sensitive"}
FIRST_LINES = "k"
"""The title under which only the first line of each statement stands: the one about classes."""
PERSON = {"patient": {"role": "identifier"}}
PROMISED_IN = {
    FIRST_LINES: "k-quasis",
    "No noise": "k-quasis",
    "Noise: the range of the class": "ε-quasis",
    "Noise: a coarse range": "ε-quasis",
    "Noise: declared bounds": "ε-quasis",
    "Noise on several ε-quasis": "ε-quasis",
    "Draws inside the range": "draws-inside-the-range",
    "Persons": "persons-with-several-records",
    "Confident k": "confident-k",
    "Averages": "averages",
    "Noise on averages": "averages",
    "Sensitive values": "sensitive-values",
    "Kept columns": "kept-columns",
}
"""Where the page of promises explains what stands under a title."""


def policy(attributes: Document, **settings: Any) -> Policy:
    """A policy of made-up columns; k, ε and the algorithm are always the same."""
    document = {"k": 10, "epsilon": 2, "algorithm": "mondrian", **settings, "attributes": attributes}
    return Policy.from_dict({key: own for key, own in document.items() if own is not None})


def examples() -> Iterator[tuple[str, str, list[Policy]]]:
    """Title, anchor of the proof, and the policies whose sentences stand under the title."""
    quasis = {"zip": ZIP, "weight": DECLARED}
    yield (
        FIRST_LINES,
        "k-in-every-class",
        [
            policy({"zip": ZIP}, epsilon=None),
            policy({"weight": DECLARED}),
            policy({"weight": {**DECLARED, "missing": "class"}}),
            policy({**PERSON, "zip": ZIP}, epsilon=None, person="patient"),
            policy({**PERSON, "weight": DECLARED}, person="patient", epsilon_per="record"),
        ],
    )
    yield "No noise", "k-in-every-class", [policy({"zip": ZIP}, epsilon=None)]
    yield "Noise: the range of the class", "laplace-on-the-grid", [policy({"zip": ZIP, "weight": CLASS})]
    yield "Noise: a coarse range", "laplace-on-the-grid", [policy({"zip": ZIP, "weight": COARSE})]
    yield "Noise: declared bounds", "laplace-on-the-grid", [policy(quasis)]
    yield (
        "Noise on several ε-quasis",
        "several-ε-quasis-one-draw",
        [
            policy({**quasis, "height": DECLARED}),
            policy({**quasis, "height": COARSE}),
        ],
    )
    yield (
        "Draws inside the range",
        "bounded-laplace",
        [
            policy({"zip": ZIP, "weight": {**DECLARED, **BOUNDED}}),
            policy({"zip": ZIP, "weight": {**COARSE, **BOUNDED}}),
            policy({"zip": ZIP, "weight": {**DECLARED, **BOUNDED}, "height": {**DECLARED, **BOUNDED}}),
            policy(
                {"zip": ZIP, "weight": {**DECLARED, **BOUNDED}, "height": {**DECLARED, **BOUNDED, "missing": "class"}}
            ),
        ],
    )
    yield (
        "Persons",
        "one-draw-per-person",
        [
            policy({**PERSON, **quasis}, person="patient", epsilon_per="record"),
            policy({**PERSON, **quasis}, person="patient", epsilon_per="record", max_records_per_person=4),
            policy({**PERSON, **quasis}, person="patient", epsilon_per="person"),
            policy({**PERSON, **quasis}, person="patient", epsilon_per="person", max_records_per_person=4),
            policy({**PERSON, **quasis}, person="patient", epsilon_per="person", max_records_per_person=1),
        ],
    )
    yield (
        "Confident k",
        "confident-k",
        [
            *(policy(quasis, confidence=0.99, confidence_rule=rule) for rule in ("text", "strict", "suppress_zero")),
            policy({"zip": ZIP, "weight": CLASS}, confidence=0.99),
            policy({**PERSON, **quasis}, confidence=0.99, person="patient", epsilon_per="record"),
            policy({**quasis, "diagnosis": {**SENSITIVE, "t_closeness": 0.3}}, confidence=0.99),
        ],
    )
    yield "Averages", "averages", list(_averages(quasis))
    yield "Noise on averages", "noise-on-averages", list(_noise_on_averages(quasis))
    yield "Sensitive values", "ℓ-diversity-and-t-closeness", list(_sensitive(quasis))
    yield "Kept columns", "what-kept-columns-undo", [
        policy({"zip": ZIP, "diagnosis": SENSITIVE}, epsilon=None),
        policy({"zip": ZIP, "diagnosis": SENSITIVE, "ward": {"role": "insensitive"}}, epsilon=None),
        policy({"zip": ZIP, "diagnosis": {**SENSITIVE, "accept_leak": "agreed with the ethics board"}}, epsilon=None),
    ]  # fmt: skip


def _averages(quasis: Document) -> Iterator[Policy]:
    for averages in ({"group": 20}, {"group": 20, "spread": True}):
        yield policy(quasis, epsilon=None, averages=averages)
        yield policy({**quasis, "height": DECLARED}, epsilon=None, averages=averages)
        yield policy({**PERSON, **quasis}, epsilon=None, averages=averages, person="patient")
    yield policy({"zip": ZIP, "weight": {**DECLARED, "missing": "class"}}, epsilon=None, averages={"group": 20})
    yield policy({**quasis, "diagnosis": {**SENSITIVE, "t_closeness": 0.3}}, epsilon=None, averages={"group": 20})


def _noise_on_averages(quasis: Document) -> Iterator[Policy]:
    noise = {"group": 20, "noise": True}
    yield policy(quasis, averages=noise)
    yield policy({**quasis, "height": DECLARED, "diagnosis": SENSITIVE}, averages=noise)
    yield policy({**PERSON, **quasis}, averages=noise, person="patient", epsilon_per="record")
    yield policy({**PERSON, **quasis}, averages=noise, person="patient", epsilon_per="person", max_records_per_person=4)


def _sensitive(quasis: Document) -> Iterator[Policy]:
    for asked in ({"distinct": 3}, {"entropy": 2.5}, {"recursive": [2, 3]}):
        yield policy({**quasis, "diagnosis": {**SENSITIVE, "l_diversity": asked}})
    yield policy({**quasis, "diagnosis": {**SENSITIVE, "t_closeness": 0.3}})
    yield policy(
        {**quasis, "diagnosis": {**SENSITIVE, "l_diversity": {"distinct": 3}, "t_closeness": 0.3}},
        averages={"group": 20},
        epsilon=None,
    )


def page() -> str:
    lines = [
        "# The sentences of a manifest, and why each holds",
        "",
        "`guarantee.statement` of a manifest is made of these sentences.",
        "Each is true for the settings that it stands under, and names its attacker.",
        "The column names, k = 10 and ε = 2 are examples. The code that words a release's own statement wrote this page.",
    ]
    shown: set[str] = set()
    for title, anchor, policies in examples():
        promised = PROMISED_IN[title]
        lines += ["", f"## {title}", "", f"[What it means](promise.md#{promised}), [why it holds](proofs.md#{anchor})."]
        for own in policies:
            sentences = statement(own).split("\n")
            for sentence in sentences[:1] if title == FIRST_LINES else sentences:
                if sentence not in shown:
                    lines += ["", f"> {sentence}"]
                    shown.add(sentence)
    lines += [
        "",
        "## Whom the figures are about",
        "",
        "[The bound on the linking risk](proofs.md#the-bound-in-the-manifest) in a manifest is about:",
    ]
    for _, _, policies in examples():
        for own in policies:
            words = attacker_in_words(own)
            if words not in shown:
                lines += ["", f"> {words}"]
                shown.add(words)
    lines += ["", "And [the largest single risk](proofs.md#the-largest-single-risk) is that of this attacker:"]
    lines += ["", f"> {single_risk_in_words(['zip', 'weight'])}"]
    lines += ["", "Where nothing is drawn there is nothing to match, and a record is one of its class:"]
    lines += ["", f"> {single_risk_in_words(['zip'], noisy=False)}", ""]
    return "\n".join(lines)
