"""Benchmarks: each prints its numbers against a named alternative measured in the same run."""
