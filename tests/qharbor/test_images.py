"""Building the images: the host's package index reaches the build and never the image."""

from __future__ import annotations

import configparser
import fnmatch
from pathlib import Path

import pytest

from qharbor import __version__, images

ROOT = images.ROOT
DOCKERFILES = [ROOT / i.dockerfile for i in images.IMAGES]


def test_only_addresses_that_mean_something_in_a_container_are_passed_on() -> None:
    settings = {
        "index-url": "https://user:word@mirror.example/simple", "extra-index-url": "file:///opt/wheels https://two.example/simple",
        "find-links": "/opt/wheels", "constraint": "/etc/pip/constraints.txt", "cert": "/etc/ssl/ca.pem", "default-timeout": "60",
    }  # fmt: skip
    parser = configparser.RawConfigParser()
    parser.read_string(images.pip_conf(settings))
    assert dict(parser["global"]) == {
        "index-url": "https://user:word@mirror.example/simple", "extra-index-url": "https://two.example/simple", "timeout": "60",
    }  # fmt: skip


def test_a_machine_without_settings_passes_nothing_on() -> None:
    assert images.pip_conf({"find-links": "/opt/wheels"}) == ""


def test_pips_own_view_of_its_settings_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    conf = tmp_path / "pip.conf"
    conf.write_text("[global]\nindex-url = https://one.example/simple\n[install]\nextra-index-url = https://two.example/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(conf))
    monkeypatch.setenv("PIP_INDEX_URL", "https://three.example/simple")
    import os

    settings = images.pip_settings(os.environ)
    assert settings["index-url"] == "https://three.example/simple"
    assert settings["extra-index-url"] == "https://two.example/simple"


def test_secrets_enter_the_build_as_files_and_never_as_arguments() -> None:
    line = images.command(images.SIDECAR, {"pip_conf": Path("/tmp/x/pip.conf")}, base=None, proxies={})
    assert "id=pip_conf,src=/tmp/x/pip.conf" in line
    assert "--build-arg" not in line


def test_a_proxy_is_passed_by_name_so_that_no_process_list_shows_it() -> None:
    line = images.command(images.AGENT, {}, base="python:3.13-slim", proxies={"https_proxy": "http://user:word@proxy.example"})
    given = [line[i + 1] for i, word in enumerate(line) if word == "--build-arg"]
    assert given == ["BASE_IMAGE=python:3.13-slim", "HTTPS_PROXY"]


def test_the_secrets_folder_is_gone_after_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "pip_settings", lambda _: {"index-url": "https://one.example/simple"})
    with images._secrets({}) as found:
        path = found["pip_conf"]
        assert path.stat().st_mode & 0o077 == 0
    assert not path.parent.exists()


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda p: p.parent.name)
def test_dockerfiles_take_the_secrets_and_hold_no_address(dockerfile: Path) -> None:
    text = dockerfile.read_text()
    assert "--mount=type=secret,id=pip_conf" in text
    assert "--require-hashes" in text
    assert "INDEX_URL" not in text
    assert "# syntax=" not in text, "a frontend of its own would have to be fetched"


def test_reference_solutions_stay_out_of_the_sidecar_image() -> None:
    rules = (ROOT / "sidecar" / "Dockerfile.dockerignore").read_text().split()
    assert rules[0] == "*", "what is not named does not enter the build"

    def kept(path: str) -> bool:
        keep = False
        for rule in rules:
            pattern = rule.lstrip("!")
            parts = [*(("/".join(path.split("/")[: n + 1])) for n in range(path.count("/") + 1))]
            if any(fnmatch.fnmatch(p, pattern) and (p.count("/") == pattern.count("/") or "**" in pattern) for p in parts):
                keep = rule.startswith("!")
        return keep

    assert kept("sidecar/__main__.py")
    assert kept("tasks/lattice_surgery_cnot/task.toml")
    assert not kept("tasks/lattice_surgery_cnot/solution/reference.py")
    assert not kept("tests/qharbor/test_images.py")
    assert not kept("agent_env/Dockerfile")
    assert not kept(".git/config")


def test_images_carry_the_version_of_the_distribution() -> None:
    assert [i.tag for i in images.IMAGES] == [f"quantum-harbor/sidecar:{__version__}", f"quantum-harbor/agent:{__version__}"]
