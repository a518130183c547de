"""REST and MCP, generated from the same experiment classes over one `Lab`."""

from sidecar.surface.app import create_app

__all__ = ["create_app"]
