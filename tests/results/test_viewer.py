"""Pages of trials: what they hold, and how they behave in a browser."""

from __future__ import annotations

import functools
import http.client
import http.server
import json
import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from qharbor.cli import app
from qharbor.view import _Quiet
from results.find import find
from results.grading import grade_trial
from results.model import Graded, Kind, Trial
from results.viewer import trial_page, write
from tests.results.browser import Page, browser
from tests.results.sessions import HOSTILE, session

STATIC = Path(__file__).resolve().parents[2] / "results" / "viewer" / "static"
FILTER = """(async (text) => {
  const box = document.querySelector('input[type=search]'), frame = () => new Promise((f) => requestAnimationFrame(f));
  const began = performance.now();
  box.value = text;
  box.dispatchEvent(new Event('input'));
  const script = performance.now() - began;
  await frame(); await frame();
  return [script, performance.now() - began, document.querySelector('.count').textContent];
})"""


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    with browser() as page:
        yield page


@pytest.fixture
def page(tab: Page) -> Page:
    tab.messages.clear()
    tab.exceptions.clear()
    tab.requests.clear()
    return tab


def data_of(html: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The data that a page carries: of the whole, and of each item."""
    parts = [re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', html, re.S) for name in ("data", "details")]
    whole, details = (p.group(1) for p in parts if p is not None)
    return json.loads(whole), [json.loads(line) for line in details.split("\n") if line]


def quiet(page: Page, *paths: Path) -> None:
    """No error, no word on the console, and nothing asked for but the pages themselves and what stands in them."""
    assert page.exceptions == []
    assert page.messages == []
    assert {u.split("#")[0] for u in page.requests if not u.startswith("data:")} <= {p.resolve().as_uri() for p in paths}


def test_a_page_holds_every_job_with_its_request_and_views_of_its_record(reference: Any) -> None:
    data, details = data_of(trial_page(find([reference.bundle])[0]))
    assert [j["status"] for j in data["jobs"]] == ["completed"] * len(data["jobs"])
    assert len(details) == len(data["jobs"]) > 3
    assert all(d["views"] and not d["undrawn"] and d["request"]["circuits"] for d in details)
    assert data["evidence"] == {"ok": True, "events": data["evidence"]["events"], "problem": "", "sealed": True}
    assert data["answer"]["value"] == reference.answer


def test_the_budget_of_a_page_is_that_of_the_ledger(reference: Any) -> None:
    graded = grade_trial(find([reference.bundle])[0])
    data, _ = data_of(trial_page(graded))
    assert {u["unit"]: u["used"] for u in data["budget"] if u["limit"]} == pytest.approx(
        {u: v["used"] for u, v in graded.budget.items() if "limit" in v}
    )
    assert data["verdict"]["outcome"] == "pass"
    assert data["graded"]


def test_one_record_byte_changed_leaves_a_page_that_says_so(reference: Any, tmp_path: Path) -> None:
    shutil.copytree(reference.bundle, tmp_path / "bundle")
    record = sorted((tmp_path / "bundle" / "records").iterdir())[0]
    raw = bytearray(record.read_bytes())
    raw[-30] ^= 1
    record.write_bytes(raw)
    data, details = data_of(trial_page(find([tmp_path / "bundle"])[0]))
    assert "digest" in data["evidence"]["problem"]
    assert "does not match its digest" in details[0]["undrawn"]
    assert details[1]["views"]


def test_a_log_that_breaks_is_shown_up_to_the_break(reference: Any, tmp_path: Path) -> None:
    shutil.copytree(reference.bundle, tmp_path / "bundle")
    log = tmp_path / "bundle" / "log.jsonl"
    kept = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*kept[:8], kept[9]]))
    data, _ = data_of(trial_page(find([tmp_path / "bundle"])[0]))
    assert data["evidence"]["problem"]
    assert 0 < len(data["jobs"]) < len(kept)


def test_hidden_truth_is_on_a_page_only_where_it_is_asked_for(reference: Any) -> None:
    trial = find([reference.bundle])[0]
    assert "truth" not in data_of(trial_page(trial))[0]
    assert data_of(trial_page(trial, truth=True))[0]["truth"]


def test_nothing_of_an_agent_is_written_as_markup(tmp_path: Path) -> None:
    html = trial_page(find([session(tmp_path / "b", 3, text=HOSTILE)])[0])
    assert html.count("<script") == 3
    assert "<img" not in html
    assert "<!--" not in html


@pytest.mark.parametrize("name", sorted(p.name for p in STATIC.glob("*.js")))
def test_scripts_neither_write_markup_nor_ask_for_anything(name: str) -> None:
    text = (STATIC / name).read_text()
    words = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "fetch(", "XMLHttpRequest",
             "WebSocket", "import(", "sendBeacon", "localStorage", "http:", "https:")  # fmt: skip
    assert [w for w in words if w in text.replace("http://www.w3.org/2000/svg", "")] == []


def test_view_writes_a_page_for_one_trial_and_a_folder_for_several(reference: Any, trap: Any, tmp_path: Path) -> None:
    one = CliRunner().invoke(app, ["view", str(reference.bundle), "--html", str(tmp_path / "one.html")])
    assert one.exit_code == 0, one.output
    assert (tmp_path / "one.html").read_text().startswith("<!doctype html>")
    both = CliRunner().invoke(app, ["view", str(reference.bundle), str(trap.bundle), "--grade", "--html", str(tmp_path / "both")])
    assert both.exit_code == 0, both.output
    data, _ = data_of((tmp_path / "both" / "index.html").read_text())
    assert [t["outcome"] for t in data["trials"]] == ["pass", grade_trial(find([trap.bundle])[0]).outcome.value]
    assert all((tmp_path / "both" / t["link"]).is_file() for t in data["trials"])
    assert CliRunner().invoke(app, ["view", str(tmp_path / "nothing")]).exit_code == 2


def test_pages_are_served_to_the_loopback_address_only(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("here")
    handler = functools.partial(_Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        found = []
        for host, path in ((f"127.0.0.1:{port}", "/page.html"), ("rebound.example", "/page.html"), (f"127.0.0.1:{port}", "/")):
            asked = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            asked.request("GET", path, headers={"Host": host})
            found.append(asked.getresponse().status)
            asked.close()
        server.shutdown()
    assert found == [200, 421, 404]


# -- in a browser ---------------------------------------------------------------------------------------------------------------------


def test_a_page_opens_without_an_error_or_a_request_and_shows_verdict_plots_and_answer(page: Page, relaxation: Any, tmp_path: Path) -> None:
    file = write([grade_trial(find([relaxation.bundle])[0])], tmp_path / "t.html", title="t")
    page.open(file)
    assert page.ask("document.querySelector('.badge').textContent") == "✓ pass"
    assert page.ask("document.querySelectorAll('table.checks tbody tr.ok').length") >= 10
    assert page.ask("document.querySelectorAll('svg.margin .fillbar').length") >= 8
    page.press("End")
    assert page.ask("document.querySelectorAll('.panel.experiments figure.view').length") >= 3
    titles = page.ask("[...document.querySelectorAll('figure h4')].map((e) => e.textContent)")
    assert titles[:3] == ["swept signal", "iq: cloud", "projected shots"]
    for number, text in (("3", "T1"), ("4", "t1_us"), ("5", "The evidence holds")):
        page.press(number)
        assert text in page.ask("[...document.querySelectorAll('.panel')].find((p) => !p.classList.contains('closed')).innerText")
    page.press("t")
    assert page.ask("document.documentElement.dataset.theme") in ("light", "dark")
    page.press("?")
    assert page.ask("document.querySelector('dialog[open]') !== null")
    quiet(page, file)


def test_scripts_in_answer_request_record_notebook_and_trajectory_are_inert(page: Page, tmp_path: Path) -> None:
    bundle = session(tmp_path / "b", 3, text=HOSTILE)
    steps = [
        {"source": "agent", "message": HOSTILE, "reasoning_content": HOSTILE,
         "tool_calls": [{"tool_call_id": "1", "function_name": HOSTILE, "arguments": {HOSTILE: HOSTILE}}],
         "observation": {"results": [{"source_call_id": "1", "content": HOSTILE}]}}
    ]  # fmt: skip
    trajectory = tmp_path / "trajectory.json"
    trajectory.write_text(json.dumps({"schema_version": "ATIF-v1.4", "agent": {"name": HOSTILE, "model_name": HOSTILE}, "steps": steps}))
    check = {"name": HOSTILE, "stage": "bind", "passed": False, "value": HOSTILE, "threshold": 1.0, "margin": -0.4, "unit": HOSTILE,
             "stderr": None, "category": HOSTILE, "gate": True, "jobs": [HOSTILE], "note": HOSTILE}  # fmt: skip
    trial = replace(find([bundle])[0], transcript=trajectory, system=HOSTILE, trial_id=HOSTILE)
    graded = Graded(trial, {"outcome": "science_failure", "reason": HOSTILE, "reward": 0, "checks": [check], "quantities": {HOSTILE: 1.0}},
                    evidence=(HOSTILE,), differences=(HOSTILE,))  # fmt: skip
    file = write([graded], tmp_path / "t.html", title="t")
    page.open(file)
    for key in ("2", "3", "4", "5", "1", "Home", "End"):
        page.press(key)
    page.ask("[...document.querySelectorAll('details')].map((d) => { d.open = true; })")
    page.settle()
    assert page.ask("window.broken") is None
    assert page.ask("document.querySelectorAll('img, iframe, object, embed').length") == 0
    assert page.ask("document.scripts.length") == 3
    assert "<script>window.broken = 1</script>" in page.ask("document.querySelector('.panel.answer').textContent")
    assert "⟨U+202E⟩" in page.ask("document.querySelector('.panel.notebook').textContent")
    quiet(page, file)
    folder = write([graded, graded], tmp_path / "all", title=HOSTILE)
    page.open(folder)
    assert page.ask("document.querySelectorAll('.row.trial').length") == 3
    assert page.ask("window.broken") is None
    quiet(page, file, folder)


def test_two_thousand_jobs_are_filtered_and_walked_through_with_few_rows_in_the_page(page: Page, tmp_path: Path) -> None:
    file = write([find([session(tmp_path / "b", 2000)])[0]], tmp_path / "t.html", title="t")
    page.open(file)
    timing = page.ask("(() => { const n = performance.getEntriesByType('navigation')[0]; return n.domComplete - n.responseEnd; })()")
    assert page.ask("document.querySelector('.count').textContent") == "2,000"
    assert page.ask("document.querySelectorAll('.row').length") < 80
    took = {text: page.ask(f"{FILTER}({json.dumps(text)})") for text in ("j1234-", "run_iq", "nothing like this", "")}
    assert [t[2] for t in took.values()] == ["1 of 2,000", "666 of 2,000", "0 of 2,000", "2,000"]
    page.ask("document.querySelector('nav select:nth-of-type(2)').value = 'failed'")
    page.ask("document.querySelector('nav select:nth-of-type(2)').dispatchEvent(new Event('change'))")
    assert page.ask("document.querySelector('.count').textContent") == "20 of 2,000"
    page.press("Escape")
    page.press("End")
    assert page.ask("document.querySelector('.detail .id').textContent").startswith("j2000-")
    page.press("k")
    assert page.ask("document.querySelector('[aria-selected=true][role=option]').textContent").startswith("1999")
    walked = page.ask(
        "(async () => { const t = performance.now(); for (let k = 0; k < 50; k++) { document.body.dispatchEvent("
        "new KeyboardEvent('keydown', "
        "{key: 'k', bubbles: true})); await new Promise((f) => requestAnimationFrame(f)); } return (performance.now() - t) / 50; })()"
    )
    quiet(page, file)
    script, painted = (max(t[k] for t in took.values()) for k in (0, 1))
    size = file.stat().st_size / 1e6
    print(f"\n2,000 jobs in {size:.1f} MB: drawn {timing:.0f} ms after the file was read; filter {script:.1f} ms of script,"
          f" {painted:.0f} ms with two frames; to the next job with its plots {walked:.0f} ms (60 Hz: 17 ms a frame)")  # fmt: skip


def test_two_thousand_trials_are_listed_filtered_and_sorted(page: Page, tmp_path: Path) -> None:
    outcomes = ("pass", "science_failure", "contract_failure", "no_submission")
    trials = [
        Graded(
            Trial(tmp_path, f"t{k}", f"system-{k % 10}", f"task_{k % 20}", repeat=k // 200, kind=Kind.TRANSCRIPT),
            {"outcome": outcomes[k % 4], "reward": int(k % 4 == 0), "race_metric": None, "checks": [], "reason": f"reason {k}"},
        )
        for k in range(2000)
    ]
    from results.viewer import campaign_page

    file = tmp_path / "index.html"
    file.write_text(campaign_page("many", trials, [""] * 2000))
    page.open(file)
    assert page.ask("document.querySelectorAll('.rows .row').length") < 80
    assert page.ask("document.querySelectorAll('table.grid td.cell').length") == 200
    assert page.ask(f"{FILTER}('system-3 task_13')")[2] == "100 of 2,000 trials"
    page.ask("[...document.querySelectorAll('.heads button')].find((b) => b.textContent === 'outcome').click()")
    assert page.ask("document.querySelectorAll('.part').length") == 1
    quiet(page, file)


def test_on_paper_all_parts_and_all_rows_are_there(page: Page, reference: Any, tmp_path: Path) -> None:
    file = write([find([reference.bundle])[0]], tmp_path / "t.html", title="t")
    page.open(file)
    page.emulate(media="print")
    visible = page.ask("[...document.querySelectorAll('.panel')].filter((p) => p.offsetHeight > 0).length")
    hidden = page.ask("getComputedStyle(document.querySelector('.filters')).display")
    page.emulate()
    assert visible == 5
    assert hidden == "none"
    quiet(page, file)
