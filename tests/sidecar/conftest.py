"""Laboratories: those in this process (`fixtures`), and a sidecar process on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from qharbor.embedded import local_sidecar
from tests.sidecar.fixtures import anyio_backend, lab, shared_lab
from tests.sidecar.laboratory import TASK

__all__ = ["anyio_backend", "lab", "served", "shared_lab"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """URL and bundle of a sidecar process."""
    bundle = tmp_path_factory.mktemp("served") / "bundle"
    with local_sidecar(TASK, bundle) as url:
        yield url, bundle
