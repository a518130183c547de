"""Admission: what a request is, whether it may run, and what it costs."""

from sidecar.admission.opening import OpenSession, open_session
from sidecar.admission.state import JobState, State
from sidecar.admission.validate import parse

__all__ = ["JobState", "OpenSession", "State", "open_session", "parse"]
