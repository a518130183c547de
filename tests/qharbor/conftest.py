"""Fixtures that modules share."""

from __future__ import annotations

import pytest

from tests.qharbor.project import Project, fresh


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One copy of the project for all tests that make tasks; each makes its own."""
    return fresh(tmp_path_factory.mktemp("project"))
