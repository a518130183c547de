"""The front door: the `qharbor` command and the embedded runner."""

__version__ = "0.1.0"
