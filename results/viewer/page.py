"""Self-contained pages: style, script and data in one file that asks for nothing.

The content security policy allows this one script and this one style by their hashes and no request at all. Data stand in the page as
JSON with every `<` and `&` written as an escape, and the script only ever sets text, so nothing from an agent is taken for markup.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

_SHARED = ("dom.js", "keys.js", "rows.js")
SCRIPTS = {
    "trial": (*_SHARED, "plots.js", "marks.js", "timeline.js", "detail.js", "verdict.js", "steps.js", "trial.js"),
    "campaign": (*_SHARED, "campaign.js"),
}


def page(kind: str, title: str, data: Mapping[str, Any], lines: Iterable[Mapping[str, Any]] = ()) -> str:
    """A page of `kind` (`trial`, `campaign`). `lines` are the details of its items in order; a browser reads each when it is looked at."""
    script, style = _script(kind), _asset("style.css")
    policy = (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; img-src data:; base-uri 'none';"
        " form-action 'none'; connect-src 'none'"
    )
    details = "\n".join(as_json(line) for line in lines)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
        f'<title>{html.escape(title)}</title>\n<link rel="icon" href="data:,">\n<style>{style}</style>\n</head>\n<body>\n'
        "<noscript>This page draws its data with a script of its own, which this browser does not run.</noscript>\n"
        f'<script type="application/json" id="data">{as_json(data)}</script>\n'
        f'<script type="application/json" id="details">{details}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def as_json(value: Any) -> str:
    """One line of JSON in ASCII that may stand in a script element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@cache
def _asset(name: str) -> str:
    return (files("results.viewer") / "static" / name).read_text(encoding="utf-8")


@cache
def _script(kind: str) -> str:
    body = "\n".join(_asset(name) for name in SCRIPTS[kind])
    return f'\n"use strict";\n(() => {{\n{body}\n}})();\n'


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
