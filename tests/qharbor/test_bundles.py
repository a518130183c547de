"""The generated part of the bundles: in step, valid for Harbor, and closed to the agent."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import tasks
from qharbor import bundles, containers, images

TASKS = tasks.names()
ROOT = Path(tasks.__file__).parents[1]


def compose(task: str, part: str) -> dict:
    return yaml.safe_load(bundles.render(tasks.load(task))[f"{part}/docker-compose.yaml"])


def config(task: str) -> dict:
    return tomllib.loads(bundles.render(tasks.load(task))["task.toml"])


def test_every_bundle_is_in_step_with_its_card() -> None:
    assert bundles.sync(check=True) == []


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One bundle as its author left it, in a tree of its own."""
    name = TASKS[0]
    folder = tmp_path / name
    folder.mkdir()
    authored = bundles.authored_part((tasks.HERE / name / "task.toml").read_text())
    (folder / "task.toml").write_text(authored)
    (folder / "instruction.md").write_text("measure\n")
    monkeypatch.setattr(tasks, "HERE", tmp_path)
    tasks.load.cache_clear()
    yield folder
    monkeypatch.undo()
    tasks.load.cache_clear()


def test_sync_writes_the_generated_part_once_and_keeps_what_the_author_wrote(copied: Path) -> None:
    authored = (copied / "task.toml").read_text()
    name = copied.name

    wanted = [f"tasks/{name}/{p}" for p in ("task.toml", "environment/docker-compose.yaml", "tests/docker-compose.yaml")]
    assert bundles.sync(check=True) == wanted
    assert (copied / "task.toml").read_text() == authored
    assert bundles.sync() == wanted
    assert (copied / "task.toml").read_text().startswith(authored)
    assert bundles.sync() == []


def test_sync_notices_an_edit_below_the_mark_and_undoes_it(copied: Path) -> None:
    bundles.sync()
    file = copied / "task.toml"
    file.write_text(file.read_text().replace('user = "root"', 'user = "agent"'))
    assert bundles.sync(check=True) == [f"tasks/{copied.name}/task.toml"]
    bundles.sync()
    assert 'user = "root"' in file.read_text()


def test_sync_reports_a_foreign_file_in_a_generated_folder_and_leaves_it(copied: Path) -> None:
    bundles.sync()
    stray = copied / "environment" / "Dockerfile"
    stray.write_text("FROM scratch\n")
    assert bundles.sync() == [f"tasks/{copied.name}/environment/Dockerfile (not generated)"]
    assert stray.exists()


def test_a_generated_table_above_the_mark_is_named_as_the_authors_mistake(copied: Path) -> None:
    file = copied / "task.toml"
    file.write_text(file.read_text() + "\n[verifier]\ntimeout_sec = 1.0\n")
    with pytest.raises(bundles.BundleError, match="above the generated part"):
        bundles.sync()


@pytest.mark.parametrize("task", TASKS)
def test_the_agent_shares_no_folder_and_no_secret_with_the_laboratory(task: str) -> None:
    services = compose(task, "environment")["services"]
    assert set(services) == {"main", "sidecar"}
    opening = {"volumes", "volumes_from", "pid", "ipc", "network_mode", "privileged", "cap_add", "devices", "links", "build"}
    for service in services.values():
        assert not service.keys() & opening
    assert "environment" not in services["main"]
    assert "env" not in config(task)["environment"]
    assert not any("SECRET" in key or "QHARBOR" in key for key in json.dumps(services["main"]).split('"'))


@pytest.mark.parametrize("task", TASKS)
def test_the_laboratory_sits_on_an_internal_network_only(task: str) -> None:
    document = compose(task, "environment")
    assert document["services"]["sidecar"]["networks"] == ["lab"]
    assert document["networks"]["lab"] == {"internal": True}
    assert "ports" not in document["services"]["sidecar"]


@pytest.mark.parametrize("task", TASKS)
def test_a_suite_secret_reaches_the_laboratory_only_and_stands_in_no_file(task: str) -> None:
    environment = compose(task, "environment")["services"]["sidecar"]["environment"]
    assert environment["QHARBOR_SUITE_SECRET"] == "${QHARBOR_SUITE_SECRET:-}"
    assert environment["QHARBOR_INSTANCE"] == "${QHARBOR_INSTANCE:-}"


@pytest.mark.parametrize("task", TASKS)
def test_the_verifier_has_no_network_and_is_the_laboratorys_image(task: str) -> None:
    verifier = config(task)["verifier"]
    assert verifier["environment_mode"] == "separate"
    assert verifier["environment"] == {"docker_image": images.SIDECAR.tag}
    assert verifier["env"] == {"QHARBOR_TASK": task}
    assert compose(task, "tests")["services"]["main"]["network_mode"] == "none"


@pytest.mark.parametrize("task", TASKS)
def test_images_are_named_by_version_and_never_pulled(task: str) -> None:
    environment, verifier = compose(task, "environment"), compose(task, "tests")
    assert environment["services"]["sidecar"]["image"] == images.SIDECAR.tag
    assert config(task)["environment"]["docker_image"] == images.AGENT.tag
    for service in (*environment["services"].values(), *verifier["services"].values()):
        assert service["pull_policy"] == "never"


@pytest.mark.parametrize("task", TASKS)
def test_the_evidence_is_collected_from_the_sidecar_after_it_was_sealed(task: str) -> None:
    written = config(task)
    assert written["artifacts"] == [{"source": "/evidence", "service": "sidecar"}]
    assert [(h["service"], h["command"]) for h in written["verifier"]["collect"]] == [("sidecar", "python -m qharbor seal /evidence")]
    assert written["agent"]["timeout_sec"] == tasks.load(task).limits.wall_s


def test_the_compose_file_by_hand_agrees_with_the_bundles() -> None:
    by_hand = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    bundle = compose(TASKS[0], "environment")["services"]["sidecar"]
    assert by_hand["agent"]["image"] == images.AGENT.tag
    for key in ("image", "networks", "cap_drop", "security_opt", "pids_limit", "mem_limit", "restart", "pull_policy", "healthcheck"):
        assert by_hand["sidecar"][key] == bundle[key]


# How Harbor itself reads a bundle, where it is installed: fields it does not know and tasks it would drop in silence.
_READ = """
import json, sys, warnings
from pathlib import Path
warnings.simplefilter("error")
from harbor.lint.task import _unknown_fields
from harbor.models.task.config import TaskConfig
from harbor.models.task.task import Task
import tomllib
found = {}
for folder in map(Path, sys.argv[1:]):
    unknown = [f for f in _unknown_fields(tomllib.loads((folder / "task.toml").read_text()), TaskConfig) if not f.startswith("metadata")]
    task = Task(folder)
    found[folder.name] = {"name": task.name, "unknown": unknown, "valid": Task.is_valid_dir(folder)}
print(json.dumps(found))
"""


def _harbor_python() -> str | None:
    try:
        return str(containers.harbor_binary().resolve().parent / "python")
    except containers.ContainerError:
        return None


@pytest.mark.skipif(_harbor_python() is None, reason="Harbor is not installed (make harbor)")
def test_harbor_reads_every_bundle_and_knows_every_field() -> None:
    folders = [str(tasks.load(name).folder) for name in TASKS]
    done = subprocess.run([_harbor_python(), "-c", _READ, *folders], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {name: {"name": f"quantum-harbor/{name}", "unknown": [], "valid": True} for name in TASKS}


@pytest.mark.skipif(_harbor_python() is None, reason="Harbor is not installed (make harbor)")
def test_install_puts_a_bundle_where_harbor_looks_for_its_content_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    name = TASKS[0]
    lines = bundles.install([name])
    assert bundles.install([name]) == lines
    address = lines[name].split()[-1]
    digest = address.removeprefix(f"quantum-harbor/{name}@sha256:")
    assert len(digest) == 64
    cached = tmp_path / ".cache" / "harbor" / "tasks" / "packages" / "quantum-harbor" / name / digest
    for path in ("task.toml", "instruction.md", "environment/docker-compose.yaml", "tests/docker-compose.yaml"):
        assert (cached / path).read_bytes() == (tasks.load(name).folder / path).read_bytes()
    assert [p.name for p in cached.parent.iterdir()] == [digest]
