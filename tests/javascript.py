"""The engines that run JavaScript in tests: Node, and Chromium driven by playwright.

Both are called in the same way: `run(code, *arguments)` evaluates `code`, which ends in a function,
and calls that function. What it throws is raised as an exception with its message.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
from importlib.util import find_spec

import pytest

NODE = shutil.which("node")
CALL = "([code, given]) => (0, eval)(code)(...given)"
PROGRAM = f"""
try {{
  const given = JSON.parse(require("fs").readFileSync(0));
  process.stdout.write(JSON.stringify(({CALL})(given)));
}} catch (error) {{
  process.stderr.write(String(error));
  process.exitCode = 1;
}}"""


def run_in_node(code, *arguments):
    """Run `code` in a new process of Node."""
    done = subprocess.run(
        [NODE, "-e", PROGRAM], input=json.dumps([code, arguments]),
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def run_in(page):
    """Return the function that runs code in a page of a browser."""
    return lambda code, *arguments: page.evaluate(CALL, [code, arguments])


def import_browser():
    """Return the module that starts Chromium, or None if Chromium cannot be used here."""
    if any(find_spec(name) is None for name in ("playwright", "sphinx_external_toc")):
        return None
    browser = importlib.import_module("builder.browser")
    return browser if browser.find_chromium() else None


def skip_without(engine):
    """Skip a test whose engine is absent; in CI fail if there is no engine at all."""
    if os.environ.get("CI") == "true" and NODE is None and import_browser() is None:
        pytest.fail("CI must test JavaScript: it needs Node or Chromium on the PATH")
    pytest.skip(f"needs {engine}")
