"""The alternative of `bench.sidecar_start`: a FastAPI application with one route that imports the sidecar's libraries and does nothing."""

from __future__ import annotations

import sys

import mcp.server.lowlevel
import numpy
import pydantic
import scipy
import stim
import structlog
import uvicorn
from fastapi import FastAPI

LIBRARIES = (mcp.server.lowlevel, numpy, pydantic, scipy, stim, structlog)
app = FastAPI()


@app.get("/healthz")
async def healthz() -> dict[str, bool]:
    return {"ok": True}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
