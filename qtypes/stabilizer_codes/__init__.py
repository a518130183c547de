"""Stabilizer codes: preparation circuits, their costs and their fault tolerance."""

from qtypes.stabilizer_codes.device import QTYPE, Hidden, Profile, Spec
from qtypes.stabilizer_codes.queries import CheckFaultTolerance, CheckStabilizers, EvaluateOptimization

__all__ = ["QTYPE", "CheckFaultTolerance", "CheckStabilizers", "EvaluateOptimization", "Hidden", "Profile", "Spec"]
