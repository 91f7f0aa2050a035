"""Where the project lives on the web: the one place that knows, and it asks at build time.

No source names an address, since a page that did would have its readers run whatever stands
there. Where the address is not known, pages have no buttons and say how to run a chapter locally.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from press.source import BookError, Chapter

_OVERRIDE = "GT2LITE_REPOSITORY"
_HOST = r"(?P<host>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,})"
_PATH = r"(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?"
_WEB = re.compile(rf"(?:https|ssh)://(?:[^@/]*@)?{_HOST}(?::\d+)?/{_PATH}")
_SSH = re.compile(rf"(?:[\w.-]+@){_HOST}:{_PATH}")
_BRANCH = re.compile(r"[\w.][\w./-]*")


@dataclass(frozen=True)
class Address:
    """A repository on the web, as ``https://host/owner/name``, and the branch to link to."""

    url: str
    branch: str

    @property
    def launches(self) -> bool:
        """Whether Colab and Binder can open its notebooks: they know GitHub."""
        return self.url.startswith("https://github.com/")


def find_address(root: Path, environment: Mapping[str, str] = os.environ) -> Address | None:
    """Return where the project at `root` lives on the web, None if that is not known.

    ``GT2LITE_REPOSITORY`` has the first word, then the variables of GitHub's CI, then the git
    remote called origin.

    Raises:
        BookError: if ``GT2LITE_REPOSITORY`` is set, but is no address of a repository.
    """
    given = environment.get(_OVERRIDE, "")
    if given and web_address(given) is None:
        raise BookError(f"{_OVERRIDE} must look like https://host/owner/name, got {given!r}")
    server = environment.get("GITHUB_SERVER_URL", "")
    built = f"{server}/{environment.get('GITHUB_REPOSITORY', '')}"
    url = web_address(given) or web_address(built) or web_address(_remote(root))
    return Address(url, _branch(root, environment)) if url else None


def web_address(remote: str) -> str | None:
    """Return the page of a git remote without credentials, None for one that has no page.

    >>> web_address("git@example.org:owner/name.git")
    'https://example.org/owner/name'
    >>> web_address("/srv/git/name.git")
    """
    found = _WEB.fullmatch(remote.strip()) or _SSH.fullmatch(remote.strip())
    return f"https://{found['host'].lower()}/{found['owner']}/{found['name']}" if found else None


def _remote(root: Path) -> str:
    # A copy without a history of its own may lie inside somebody else's checkout.
    if _git(root, "rev-parse", "--is-inside-work-tree") != "true":
        return ""
    return (
        "" if _git(root, "rev-parse", "--show-cdup") else _git(root, "remote", "get-url", "origin")
    )


def _branch(root: Path, environment: Mapping[str, str]) -> str:
    default = _git(root, "symbolic-ref", "--short", "refs/remotes/origin/HEAD")
    asked = (environment.get("GITHUB_REF_NAME", ""), default.removeprefix("origin/"))
    return next((name for name in asked if _BRANCH.fullmatch(name)), "main")


def _git(root: Path, *words: str) -> str:
    """Return what git answers, nothing where it cannot."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def configure(config: dict[str, Any], address: Address | None) -> None:
    """Give Jupyter Book's `config` the buttons that `address` allows, and no others."""
    # Left alone, Jupyter Book fills in an address of its own.
    config["repository"] = {"url": "", "path_to_book": "", "branch": "main"}
    if address is None or not address.launches:
        return
    config["repository"] |= {"url": address.url, "branch": address.branch}
    config["launch_buttons"] = {
        "notebook_interface": "jupyterlab",
        "binderhub_url": "https://mybinder.org",
        "colab_url": "https://colab.research.google.com",
    }
    config.setdefault("html", {}).update(use_repository_button=True, use_issues_button=True)


def how_to_run(chapter: Chapter, address: Address | None) -> str:
    """Return the Markdown that tells a reader how to run `chapter`."""
    place = f"a clone of <{address.url}>" if address else "the folder of the project"
    lines = [
        "::::{dropdown} Run this chapter",
        f"In {place}, with parameters of yours:",
        "",
        "```sh",
        f"make chapter NAME={chapter.name}{_example(chapter)}",
        "```",
    ]
    if address is not None and address.launches:
        lines += [
            "",
            "Or press the rocket at the top of this page. Binder brings what the chapter needs; in "
            "Colab run this first:",
            "",
            "```",
            f'%pip install -q "gt2lite[chapters] @ git+{address.url}@{address.branch}"',
            "```",
        ]
    return "\n".join([*lines, "::::"])


def _example(chapter: Chapter) -> str:
    """Return ``PARAMS="..."`` with the first parameter that is a number, if there is one."""
    for name, value in chapter.defaults.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return f' PARAMS="{name}={value}"'
    return ""
