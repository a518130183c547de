"""Plots of a campaign, as a paper shows them. Functions take plain rows and return a figure; `write_all` draws a campaign into a folder.

Colours after Okabe and Ito (2008); every colour also has a hatch or a marker, so that figures read in grey print. Files are reproducible:
no date, no path, no version of a program stands in them.
"""

from results.plots.campaign import write_all
from results.plots.passes import Cell, OutcomeCount, PassRate, composition, pass_grid, pass_rates
from results.plots.ratings import EloRow, elo
from results.plots.stack import Layered, Solved, difficulty, task_layers
from results.plots.style import save

__all__ = [
    "Cell", "EloRow", "Layered", "OutcomeCount", "PassRate", "Solved", "composition", "difficulty", "elo", "pass_grid", "pass_rates",
    "save", "task_layers", "write_all",
]  # fmt: skip
