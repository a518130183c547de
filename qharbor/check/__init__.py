"""`qharbor check`: does a task measure what it should? Reference, trap and cheats on fresh devices, with intervals and margins."""

from qharbor.check.measure import Run, Store, Unit, cpu_seconds, measure, plan, run_all
from qharbor.check.report import Summary, plot, summarise

__all__ = ["Run", "Store", "Summary", "Unit", "cpu_seconds", "measure", "plan", "plot", "run_all", "summarise"]
