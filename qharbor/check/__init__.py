"""`qharbor check`: does a task measure what it should? Reference, trap and cheats on fresh devices, with intervals and margins."""

from qharbor.check.measure import Run, Store, cpu_seconds, measure
from qharbor.check.report import Summary, plot, summarise, wilson

__all__ = ["Run", "Store", "Summary", "cpu_seconds", "measure", "plot", "summarise", "wilson"]
