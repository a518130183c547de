"""`python -m sidecar`: serve one session; configured by environment (see `sidecar.settings`)."""

from __future__ import annotations

import os

for _pool in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ[_pool] = "1"

import asyncio  # noqa: E402
import logging  # noqa: E402
import signal  # noqa: E402
import socket  # noqa: E402
import sys  # noqa: E402

import structlog  # noqa: E402
import uvicorn  # noqa: E402

from evidence import EvidenceError  # noqa: E402
from sidecar.admission import open_session  # noqa: E402
from sidecar.lab import Lab  # noqa: E402
from sidecar.server import TimedProtocol  # noqa: E402
from sidecar.settings import Settings  # noqa: E402
from sidecar.surface import create_app  # noqa: E402

EXIT_EVIDENCE = 3
"""Exit status where the bundle found does not hold or belongs to another task."""


async def serve(settings: Settings) -> int:
    try:
        session = open_session(settings)
    except EvidenceError as exc:
        print(f"the bundle in {settings.out} cannot be served: {exc}", file=sys.stderr)
        return EXIT_EVIDENCE
    lab = Lab(session, settings)
    config = uvicorn.Config(
        create_app(lab, settings), host=settings.host, port=settings.port, log_level="warning", access_log=False, lifespan="on",
        limit_concurrency=512, timeout_keep_alive=15, timeout_graceful_shutdown=3, http=TimedProtocol, ws="none", server_header=False,
    )  # fmt: skip
    server = uvicorn.Server(config)
    loop = asyncio.get_running_loop()
    sealing: set[asyncio.Task[None]] = set()  # the loop itself keeps no reference to a task
    # SIGUSR1 is the operator's seal: it needs no port and no secret, and the agent cannot send it
    loop.add_signal_handler(signal.SIGUSR1, lambda: sealing.add(asyncio.create_task(lab.seal("sealed by the operator"))))
    (settings.out / "sidecar.pid").write_text(str(os.getpid()))
    await server.serve(sockets=None if settings.fd is None else [_handed_down(settings.fd)])
    return 0


def _handed_down(fd: int) -> socket.socket:
    """The bound socket of the starting process; workers do not get it."""
    listening = socket.socket(fileno=fd)
    listening.set_inheritable(False)
    return listening


def main() -> None:
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
    )
    sys.exit(asyncio.run(serve(Settings.from_env())))


if __name__ == "__main__":
    main()
