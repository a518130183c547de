"""Laboratories in this process, for every folder of tests that drives one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.sidecar.laboratory import Laboratory, laboratory


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
