"""The page: one HTML text with its style and script inside, and a policy that lets nothing else run.

`static/page.html` has their places. The script's modules are joined in the order of `static/order.txt`, without their
`import` lines and the word `export`, so names must be unique across modules.
"""

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Final

_STYLE: Final = "<!--style-->"
_SCRIPT: Final = "<!--script-->"
_DATA: Final = "<!--data-->"
_POLICY: Final = "<!--policy-->"
_IMPORT: Final = re.compile(r"^import\b(?:(?!^import\b)[^;])*+;[ \t]*+\n", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|class|const|let)\b)", re.MULTILINE)


@cache
def live_page() -> tuple[str, str]:
    """The page that asks its own server, and its content security policy for the header."""
    html, policy = _assembled("connect-src 'self'")
    return html.replace(_DATA, "").replace(_POLICY, ""), f"{policy}; frame-ancestors 'none'"


def report_page(data: str) -> str:
    """The self-contained page (`data`: base64), which sends no requests; its policy is inside."""
    html, policy = _assembled()
    html = html.replace(_POLICY, f'<meta http-equiv="Content-Security-Policy" content="{policy}">')
    block = f'<script type="application/octet-stream;base64" id="data">{data}</script>'
    return html.replace(_DATA, block)


def _assembled(*more: str) -> tuple[str, str]:
    """The parts that report and live page share, and the policy, with `more` allowed."""
    style, html, modules = _asset("page.css"), _asset("page.html"), map(_asset, _asset("order.txt").split())
    script = "\n".join(_EXPORT.sub("", _IMPORT.sub("", module)) for module in modules)
    allowed = ["default-src 'none'", f"script-src {_digest(script)}", f"style-src {_digest(style)}", "img-src data:"]
    policy = "; ".join([*allowed, *more, "base-uri 'none'", "form-action 'none'"])
    return html.replace(_STYLE, style).replace(_SCRIPT, script), policy


def _asset(name: str) -> str:
    return files("evolve.view").joinpath("static", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
