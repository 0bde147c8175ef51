# SPDX-License-Identifier: Apache-2.0
"""(k,ε)-anonymity: turns a table about people into one that can be given away.

This module lists the public names. Each is imported when it is first used, so that `kepsilon --help` does not wait for
Arrow. It imports next to nothing itself, because Ctrl-C in the meantime would show a traceback (see `__main__`).
"""

from __future__ import annotations

from importlib import import_module

from kepsilon.version import __version__

TYPE_CHECKING = False  # type checkers know the name; `typing` would take longer than all the rest
if TYPE_CHECKING:
    from typing import Any

    from kepsilon.auditing.audit import audit
    from kepsilon.auditing.findings import Audit, AuditFinding
    from kepsilon.engines.choose import spark_engine
    from kepsilon.engines.on_disk.needs import Needs
    from kepsilon.errors import (
        AnonymisationError,
        DataError,
        EarlierDrawWarning,
        EngineError,
        InterruptedAfterRelease,
        PolicyError,
        Problem,
        UnexpectedError,
        UnsatisfiableError,
    )
    from kepsilon.evaluate.estimate import Estimate
    from kepsilon.evaluate.linking.attackers import Attacker
    from kepsilon.grid.cells import Cell
    from kepsilon.grid.choice import Choice, Limits
    from kepsilon.grid.grid import Grid, check_grid_output
    from kepsilon.pipeline.anonymise import anonymise
    from kepsilon.pipeline.check import check, offending_values
    from kepsilon.pipeline.explore import explore
    from kepsilon.pipeline.needs import estimate_needs
    from kepsilon.policy.policy import Policy, json_schema
    from kepsilon.policy.rewriting import check_new_policy, policy_difference, write_new_policy, write_policy
    from kepsilon.predict.prediction import Prediction
    from kepsilon.propose.policy_text import propose_policy, propose_with_reasons
    from kepsilon.propose.proposed_policy import ProposedColumn, ProposedPolicy
    from kepsilon.publish.earlier_draws import earlier_draw
    from kepsilon.publish.from_release import manifest
    from kepsilon.publish.inputs import Input, inputs_of, refuse_input
    from kepsilon.publish.manifest import Manifest
    from kepsilon.publish.outputs import check_outputs
    from kepsilon.publish.record import Record
    from kepsilon.publish.release import Release, Written
    from kepsilon.reproduce.run import Reproduction, reproduce_paper
    from kepsilon.sources.demo import DEMO_POLICY, made_up_patients

_HOMES = {
    "AnonymisationError": "kepsilon.errors",
    "DataError": "kepsilon.errors",
    "EarlierDrawWarning": "kepsilon.errors",
    "EngineError": "kepsilon.errors",
    "InterruptedAfterRelease": "kepsilon.errors",
    "PolicyError": "kepsilon.errors",
    "Problem": "kepsilon.errors",
    "UnexpectedError": "kepsilon.errors",
    "UnsatisfiableError": "kepsilon.errors",
    "Attacker": "kepsilon.evaluate.linking.attackers",
    "Cell": "kepsilon.grid.cells",
    "Choice": "kepsilon.grid.choice",
    "Grid": "kepsilon.grid.grid",
    "Limits": "kepsilon.grid.choice",
    "check_grid_output": "kepsilon.grid.grid",
    "estimate_needs": "kepsilon.pipeline.needs",
    "explore": "kepsilon.pipeline.explore",
    "Audit": "kepsilon.auditing.findings",
    "AuditFinding": "kepsilon.auditing.findings",
    "DEMO_POLICY": "kepsilon.sources.demo",
    "earlier_draw": "kepsilon.publish.earlier_draws",
    "Estimate": "kepsilon.evaluate.estimate",
    "Needs": "kepsilon.engines.on_disk.needs",
    "Policy": "kepsilon.policy.policy",
    "Prediction": "kepsilon.predict.prediction",
    "Manifest": "kepsilon.publish.manifest",
    "Record": "kepsilon.publish.record",
    "Release": "kepsilon.publish.release",
    "Written": "kepsilon.publish.release",
    "anonymise": "kepsilon.pipeline.anonymise",
    "audit": "kepsilon.auditing.audit",
    "check": "kepsilon.pipeline.check",
    "check_new_policy": "kepsilon.policy.rewriting",
    "policy_difference": "kepsilon.policy.rewriting",
    "write_policy": "kepsilon.policy.rewriting",
    "write_new_policy": "kepsilon.policy.rewriting",
    "Input": "kepsilon.publish.inputs",
    "inputs_of": "kepsilon.publish.inputs",
    "refuse_input": "kepsilon.publish.inputs",
    "check_outputs": "kepsilon.publish.outputs",
    "json_schema": "kepsilon.policy.policy",
    "made_up_patients": "kepsilon.sources.demo",
    "manifest": "kepsilon.publish.from_release",
    "offending_values": "kepsilon.pipeline.check",
    "ProposedColumn": "kepsilon.propose.proposed_policy",
    "ProposedPolicy": "kepsilon.propose.proposed_policy",
    "propose_policy": "kepsilon.propose.policy_text",
    "propose_with_reasons": "kepsilon.propose.policy_text",
    "Reproduction": "kepsilon.reproduce.run",
    "reproduce_paper": "kepsilon.reproduce.run",
    "spark_engine": "kepsilon.engines.choose",
}

__all__ = [
    "DEMO_POLICY",
    "AnonymisationError",
    "Attacker",
    "Audit",
    "AuditFinding",
    "Cell",
    "Choice",
    "DataError",
    "EarlierDrawWarning",
    "EngineError",
    "Estimate",
    "Grid",
    "Input",
    "InterruptedAfterRelease",
    "Limits",
    "Manifest",
    "Needs",
    "Policy",
    "PolicyError",
    "Prediction",
    "Problem",
    "ProposedColumn",
    "ProposedPolicy",
    "Record",
    "Release",
    "Reproduction",
    "UnexpectedError",
    "UnsatisfiableError",
    "Written",
    "__version__",
    "anonymise",
    "audit",
    "check",
    "check_grid_output",
    "check_new_policy",
    "check_outputs",
    "earlier_draw",
    "estimate_needs",
    "explore",
    "inputs_of",
    "json_schema",
    "made_up_patients",
    "manifest",
    "offending_values",
    "policy_difference",
    "propose_policy",
    "propose_with_reasons",
    "refuse_input",
    "reproduce_paper",
    "spark_engine",
    "write_new_policy",
    "write_policy",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'kepsilon' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Every public name, also those that were not imported yet."""
    return sorted({*globals(), *__all__})
