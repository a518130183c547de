"""The contract of qtypes and tasks: one function per rule, each returns its findings.

The same rules run as tests over everything in this repository (`tests/contract/`), and by `qharbor contract` for anybody's qtype or task.
"""

from __future__ import annotations

from collections.abc import Callable

from qharbor.contract import bundles, charges, devices, notebooks, records, refusals, schemas
from qharbor.contract.findings import Finding, NotApplicable
from qharbor.contract.subject import QTypeSubject, TaskSubject

QTYPE_RULES: tuple[Callable[[QTypeSubject], list[Finding]], ...] = (
    schemas.schemas_are_flat,
    schemas.fields_are_documented,
    schemas.numbers_have_units,
    schemas.tools_are_named,
    schemas.examples_are_valid,
    refusals.bounds_are_enforced,
    refusals.fields_are_bounded,
    devices.draws_vary,
    devices.draws_repeat,
    devices.models_survive_json,
    devices.spec_hides_the_device,
    notebooks.notebook_is_dated,
    notebooks.notebook_keeps_the_secret,
    records.records_repeat,
    records.records_differ_between_seeds,
    records.records_are_raw_and_finite,
    records.hidden_parameters_matter,
    records.drift_follows_the_lab_clock,
    records.costs_follow_from_the_request,
)
TASK_RULES: tuple[Callable[[TaskSubject], list[Finding]], ...] = (
    bundles.card_is_whole,
    bundles.instruction_states_the_budget,
    bundles.instruction_states_the_criteria,
    bundles.instruction_states_the_answer,
    bundles.answer_is_strict,
    bundles.solutions_use_the_public_surface,
    bundles.bundle_is_in_step,
    bundles.harbor_accepts_the_bundle,
    charges.budget_units_are_charged,
    charges.charges_equal_costs,
)

__all__ = ["QTYPE_RULES", "TASK_RULES", "Finding", "NotApplicable", "QTypeSubject", "TaskSubject"]
