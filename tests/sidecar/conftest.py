"""Laboratories: one in this process, and a sidecar process on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from qharbor.embedded import local_sidecar
from tests.sidecar.laboratory import TASK, Laboratory, laboratory


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def lab(tmp_path: Path, anyio_backend: str) -> AsyncIterator[Laboratory]:
    """A fresh laboratory with one worker."""
    async with laboratory(tmp_path / "bundle") as opened:
        yield opened


@pytest.fixture(scope="module")
async def shared_lab(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[Laboratory]:
    """One laboratory for all tests of a module that leave no trace in it."""
    async with laboratory(tmp_path_factory.mktemp("shared") / "bundle") as opened:
        yield opened


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """URL and bundle of a sidecar process."""
    bundle = tmp_path_factory.mktemp("served") / "bundle"
    with local_sidecar(TASK, bundle) as url:
        yield url, bundle
