"""The two container images: what they are called, whether they are there, and how they are built.

The host's package index and certificates reach the build as secrets, which live in memory while one step runs: no layer, no history line
and no environment variable of the image names them.
"""

from __future__ import annotations

import configparser
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from qharbor import __version__

ROOT = Path(__file__).resolve().parents[1]
_SECRET_BYTES = 500_000  # BuildKit refuses larger ones


@dataclass(frozen=True)
class Image:
    """An image by name and version, the Dockerfile and the folder it is built from, relative to the project."""

    name: str
    dockerfile: str
    context: str

    @property
    def tag(self) -> str:
        return f"{self.name}:{__version__}"


SIDECAR = Image("quantum-harbor/sidecar", "sidecar/Dockerfile", ".")
AGENT = Image("quantum-harbor/agent", "agent_env/Dockerfile", "agent_env")
IMAGES = (SIDECAR, AGENT)


class BuildError(Exception):
    """An image could not be built; the text says which and what to do."""


def present() -> dict[str, bool]:
    """Whether each image is there, by tag; all False where Docker does not answer."""
    return {image.tag: _docker_ok("image", "inspect", image.tag) for image in IMAGES}


def _docker_ok(*arguments: str) -> bool:
    try:
        done = subprocess.run(["docker", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def build(wanted: Sequence[Image] = IMAGES, *, python: str | None = None) -> list[str]:
    """Build the images and return their tags; what has not changed comes from Docker's cache, in seconds.

    `python` is another base image than `python:3.12-slim` (default: `$QHARBOR_BASE_IMAGE`). Progress goes to stderr.
    :class:`BuildError` says what failed.
    """
    if shutil.which("docker") is None:
        raise BuildError("docker is not on PATH; `qharbor doctor` says what is missing")
    if not (ROOT / SIDECAR.dockerfile).is_file():
        raise BuildError("images are built from a checkout of the project; this is an installed copy")
    base = python or os.environ.get("QHARBOR_BASE_IMAGE")
    with _secrets(os.environ) as secrets:
        for image in wanted:
            print(f"== {image.tag}", file=sys.stderr, flush=True)
            argv = command(image, secrets, base=base, proxies=os.environ)
            if subprocess.run(argv, cwd=ROOT, env={**os.environ, "DOCKER_BUILDKIT": "1"}, stdout=sys.stderr, check=False).returncode:
                raise BuildError(f"building {image.tag} failed; the lines above say why")
    return [image.tag for image in wanted]


def command(image: Image, secrets: Mapping[str, Path], *, base: str | None, proxies: Mapping[str, str]) -> list[str]:
    """The line that builds one image."""
    argv = ["docker", "buildx", "build", "--load", "--tag", image.tag, "--file", image.dockerfile]
    for name, path in secrets.items():
        argv += ["--secret", f"id={name},src={path}"]
    if base:
        argv += ["--build-arg", f"BASE_IMAGE={base}"]
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"):
        # Docker knows these three names: it passes them on and keeps them out of the image and its history
        if proxies.get(name) or proxies.get(name.lower()):
            argv += ["--build-arg", name]
    return [*argv, image.context]


@contextlib.contextmanager
def _secrets(environment: Mapping[str, str]) -> Iterator[dict[str, Path]]:
    """Files of the build secrets `pip_conf` and `ca_bundle`, where the host has something to say."""
    with tempfile.TemporaryDirectory(prefix="qharbor-build-") as folder:
        found: dict[str, Path] = {}
        settings = pip_settings(environment)
        text = pip_conf(settings)
        if text:
            found["pip_conf"] = Path(folder) / "pip.conf"
            found["pip_conf"].touch(mode=0o600)
            found["pip_conf"].write_text(text)
        bundle = environment.get("PIP_CERT") or environment.get("SSL_CERT_FILE") or settings.get("cert")
        if bundle and Path(bundle).is_file() and Path(bundle).stat().st_size < _SECRET_BYTES:
            found["ca_bundle"] = Path(bundle)
        yield found


def pip_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """pip's settings on this machine, as `pip config list` tells them: `{"index-url": ..., ...}`; the more specific level wins."""
    try:
        listed = subprocess.run(
            [sys.executable, "-m", "pip", "config", "list"], env=dict(environment), capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listed.stdout.splitlines():
        key, _, value = line.partition("=")
        level, _, name = key.rpartition(".")
        if level in found:
            found[level][name] = value.strip().strip("'\"").replace("\\n", "\n")
    return {**found["global"], **found["install"], **found[":env:"]}


def pip_conf(settings: Mapping[str, str]) -> str:
    """The part of pip's settings that means something inside a container: addresses, not paths of this machine."""
    kept: dict[str, str] = {}
    for name in ("index-url", "extra-index-url", "trusted-host", "timeout", "default-timeout"):
        words = settings.get(name, "").split()
        if name.endswith("index-url"):
            words = [w for w in words if w.startswith(("http://", "https://"))]
        if words:
            kept["timeout" if name == "default-timeout" else name] = "\n".join(words)
    if not kept:
        return ""
    parser = configparser.RawConfigParser()
    parser["global"] = kept
    with tempfile.TemporaryFile("w+") as file:
        parser.write(file)
        file.seek(0)
        return file.read()


if __name__ == "__main__":
    try:
        build()
    except BuildError as error:
        sys.exit(f"images: {error}")
