"""Clifford+T circuits to be rewritten with fewer T gates."""

from qtypes.logical_circuit_optimizer.device import QTYPE, Hidden, Profile, Spec
from qtypes.logical_circuit_optimizer.experiments import Evaluate

__all__ = ["QTYPE", "Evaluate", "Hidden", "Profile", "Spec"]
