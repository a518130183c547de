"""Pages on which a trial can be looked at: `trial_page`, `campaign_page`, and `write` for whole folders."""

from results.viewer.build import campaign_page, trial_page, write

__all__ = ["campaign_page", "trial_page", "write"]
