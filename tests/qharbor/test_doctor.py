"""`qharbor doctor` on machines that lack one thing each."""

from __future__ import annotations

import json
from typing import Any

import pytest

from qharbor import doctor
from qharbor.images import AGENT, SIDECAR

GB = 10**9


class Healthy(doctor.Machine):
    """A machine that has everything; each test takes one thing away."""

    python = (3, 12, 1)
    engine: dict[str, Any] = {"ServerVersion": "27.0.1", "DockerRootDir": "/var/lib/docker", "DefaultAddressPools": None}
    engine_status = (0, "")
    subnets = ("172.17.0.0/16",)
    images = (AGENT.tag, SIDECAR.tag)
    compose = (0, "Docker Compose version v2.29.1")
    buildx = (0, "github.com/docker/buildx v0.16.2 abc")
    free = 100 * GB
    has_docker = True
    harbor_path: str | None = "/opt/harbor"
    harbor_version = "0.26.0"
    stale: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()

    def which(self, program: str) -> str | None:
        return f"/usr/bin/{program}" if self.has_docker else None

    def run(self, *argv: str) -> tuple[int, str, str]:
        match argv:
            case ("docker", "info", *_):
                status, error = self.engine_status
                return status, json.dumps(self.engine), error
            case ("docker", "compose", "version"):
                return *self.compose, ""
            case ("docker", "buildx", "version"):
                return *self.buildx, ""
            case ("docker", "image", "inspect", *_, tag):
                return (0, "sha256:0", "") if tag in self.images else (1, "", "No such image")
            case ("docker", "network", "ls", *_):
                return 0, "\n".join(str(n) for n, _ in enumerate(self.subnets)), ""
            case ("docker", "network", "inspect", *_):
                return 0, " ".join(self.subnets), ""
            case (path, "--version") if path == self.harbor_path:
                return 0, self.harbor_version, ""
        raise AssertionError(argv)

    def free_bytes(self, path: str) -> int | None:
        return self.free

    def harbor(self) -> str | None:
        return self.harbor_path

    def importable(self, module: str) -> bool:
        return module not in self.lacking

    def out_of_step(self) -> list[str]:
        return list(self.stale)


def machine(**lacks: Any) -> Healthy:
    return type("Lacking", (Healthy,), lacks)()


def only_lack(**lacks: Any) -> doctor.Finding:
    bad = [f for f in doctor.findings(machine(**lacks)) if f.status != "ok"]
    assert len(bad) == 1, bad
    return bad[0]


def test_a_machine_with_everything_is_ready_for_both_ways() -> None:
    found = doctor.findings(machine())
    assert {f.status for f in found} == {"ok"}
    assert doctor.ready(found) == {"embedded": True, "docker": True}


@pytest.mark.parametrize(
    ("lacks", "name", "status", "mend"),
    [
        ({"python": (3, 11, 9)}, "python", "missing", "scripts/find_python.sh"),
        ({"lacking": ("stim",)}, "packages", "missing", "make demo"),
        ({"stale": ("tasks/a/task.toml",)}, "bundles", "warning", "qharbor tasks sync"),
        ({"has_docker": False}, "docker", "missing", "sudo apt-get install docker.io"),
        ({"engine_status": (1, "Cannot connect to the Docker daemon"), "engine": {}}, "docker", "missing", "sudo systemctl start docker"),
        ({"compose": (1, "")}, "docker compose", "missing", "sudo apt-get install docker-compose-plugin"),
        ({"compose": (0, "docker-compose version 1.29.2")}, "docker compose", "missing", "sudo apt-get install docker-compose-plugin"),
        ({"buildx": (1, "")}, "docker buildx", "missing", "sudo apt-get install docker-buildx-plugin"),
        ({"images": (AGENT.tag,)}, "images", "missing", "make images"),
        ({"harbor_path": None}, "harbor", "missing", "make harbor"),
        ({"harbor_version": "0.31.0"}, "harbor", "warning", "make harbor"),
    ],
    ids=lambda v: v.replace(" ", "-") if isinstance(v, str) else "",
)
def test_each_lack_is_named_with_the_command_that_mends_it(lacks: dict[str, Any], name: str, status: str, mend: str) -> None:
    finding = only_lack(**lacks)
    assert (finding.name, finding.status, finding.mend) == (name, status, mend)


def test_a_user_outside_the_docker_group_is_told_so() -> None:
    denied = {"ServerErrors": ["permission denied while trying to connect to the docker API"], "ServerVersion": ""}
    finding = only_lack(engine=denied, engine_status=(1, ""))
    assert "may not talk" in finding.found
    assert "usermod -aG docker" in finding.mend


def test_without_docker_the_embedded_way_still_works() -> None:
    assert doctor.ready(doctor.findings(machine(has_docker=False))) == {"embedded": True, "docker": False}


def test_an_old_python_stops_both_ways() -> None:
    assert doctor.ready(doctor.findings(machine(python=(3, 11, 0)))) == {"embedded": False, "docker": False}


def test_an_exhausted_address_pool_is_a_lack_and_a_short_one_a_warning() -> None:
    taken = [f"172.{n}.0.0/16" for n in range(17, 32)]
    none_left = (*taken, *(f"192.168.{n}.0/20" for n in range(0, 256, 16)))
    finding = only_lack(subnets=none_left)
    assert (finding.name, finding.status, finding.mend) == ("address pool", "missing", "docker network prune --force")
    finding = only_lack(subnets=none_left[:-4])
    assert (finding.status, finding.found) == ("warning", "room for 4 more networks, a trial takes 2: run at most 2 at a time")


def test_the_pools_of_the_engines_configuration_are_counted_instead_of_the_built_in_ones() -> None:
    pools = [{"Base": "10.10.0.0/16", "Size": 24}]
    engine = {**Healthy.engine, "DefaultAddressPools": pools}
    found = {f.name: f for f in doctor.findings(machine(engine=engine, subnets=("10.10.3.0/24",)))}
    assert found["address pool"].found.startswith("room for 255 more")


@pytest.mark.parametrize(
    ("taken", "free"),
    [
        ([], 31),
        (["172.17.0.0/16"], 30),
        (["172.20.0.0/14"], 27),  # a subnet wider than a range blocks each of the four it covers
        (["192.168.0.0/24", "192.168.1.0/24"], 30),  # two small subnets inside one range
        (["10.0.0.0/8", "fd00::/64"], 31),  # elsewhere
        (["192.168.0.0/16"], 15),
    ],
)
def test_free_networks_counts_ranges_that_overlap_none_in_use(taken: list[str], free: int) -> None:
    assert doctor.free_networks(doctor._BUILT_IN_POOLS, taken) == free


def test_little_disk_is_a_warning_and_hardly_any_a_lack() -> None:
    assert {f.status for f in doctor.findings(machine(free=3 * GB)) if f.name.startswith("disk")} == {"warning"}
    assert {f.status for f in doctor.findings(machine(free=GB // 10)) if f.name.startswith("disk")} == {"missing"}


def test_the_report_as_json_is_one_document_and_the_status_says_whether_anything_is_missing() -> None:
    lines: list[str] = []
    assert doctor.run(as_json=True, machine=machine(images=()), echo=lines.append) == 1
    report = json.loads("\n".join(lines))
    assert report["ready"] == {"embedded": True, "docker": False}
    assert [f["name"] for f in report["findings"] if f["status"] == "missing"] == ["images"]
    assert doctor.run(as_json=True, machine=machine(), echo=lines.append) == 0


def test_the_report_for_a_person_names_what_to_type(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.run(machine=machine(harbor_path=None)) == 1
    shown = capsys.readouterr().out
    assert "make harbor" in shown
    assert "works: qharbor run TASK" in shown
    assert "does not work yet: qharbor run TASK --docker" in shown
