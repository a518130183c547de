"""Offline results: what a campaign of trials says about the systems that ran it."""

import os

# Verdicts agree to the last bit only where sums are taken in the same order: one BLAS thread, set before numpy is imported.
for _pool in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_pool, "1")
