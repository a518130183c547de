"""Offline results: what a campaign of trials says about the systems that ran it."""
