"""Where the project lives on the web is asked at build time, and no page says more than that."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess

import pytest
from tinybook import ROOT, compiled

address = importlib.import_module("builder.pages")
source = importlib.import_module("builder.source")

CI = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "someone/fork",
    "GITHUB_REF_NAME": "stable",
}
GITHUB = address.Address("https://github.com/someone/fork", "stable")
ELSEWHERE = address.Address("https://git.example.org/someone/fork", "main")


def git(folder, *words):
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout whose remote can be set, and no settings of the person who runs the tests."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")

    def make(remote):
        git(tmp_path, "init", "--quiet")
        git(tmp_path, "remote", "add", "origin", remote)
        return tmp_path

    return make


def test_the_environment_of_the_ci_tells_it(tmp_path):
    assert address.find_address(tmp_path, CI) == GITHUB


def test_an_override_has_the_first_word(checkout):
    given = {**CI, "GT2LITE_REPOSITORY": "https://git.example.org/me/mine"}
    found = address.find_address(checkout("https://github.com/a/b"), given)
    assert found == address.Address("https://git.example.org/me/mine", "stable")


def test_an_override_that_is_no_address_is_an_error(tmp_path):
    with pytest.raises(source.BookError, match="GT2LITE_REPOSITORY must look like"):
        address.find_address(tmp_path, {"GT2LITE_REPOSITORY": "mine"})


@pytest.mark.parametrize(
    "remote",
    [
        "https://example.org/owner/name",
        "https://example.org/owner/name.git",
        "https://example.org/owner/name/",
        "https://user:secret@example.org/owner/name.git",
        "https://secret@example.org/owner/name.git",
        "git@example.org:owner/name.git",
        "ssh://git@example.org:22/owner/name.git",
    ],
)
def test_a_remote_on_the_web_tells_it_without_credentials(checkout, remote):
    found = address.find_address(checkout(remote), {})
    assert found == address.Address("https://example.org/owner/name", "main")


@pytest.mark.parametrize(
    "remote",
    [
        "/srv/owner/name.git",
        "../name",
        "file:///srv/owner/name",
        "http://example.org/owner/name",  # a reader would run what comes unsealed
        "https://localhost:8080/owner/name",
        "https://example.org/name",
        'https://example.org/owner/"name',
    ],
)
def test_a_remote_that_is_not_on_the_web_tells_nothing(checkout, remote):
    assert address.find_address(checkout(remote), {}) is None


def test_the_branch_is_the_one_that_the_remote_shows_first(checkout):
    root = checkout("https://github.com/someone/fork")
    git(root, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    assert address.find_address(root, {}) == address.Address(GITHUB.url, "trunk")


def test_a_copy_inside_another_checkout_does_not_take_its_address(checkout):
    inner = checkout("https://github.com/someone/other") / "copy"
    inner.mkdir()
    assert address.find_address(inner, {}) is None


def test_without_a_checkout_or_without_git_it_is_not_known(tmp_path, monkeypatch):
    assert address.find_address(tmp_path, {}) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert address.find_address(ROOT, {}) is None


def test_only_github_gets_buttons():
    for place in (None, ELSEWHERE):
        config = {"html": {}}
        address.configure(config, place)
        assert config == {
            "html": {},
            "repository": {"url": "", "path_to_book": "", "branch": "main"},
        }
    config = {}
    address.configure(config, GITHUB)
    assert config["repository"] == {"url": GITHUB.url, "path_to_book": "", "branch": "stable"}
    assert config["launch_buttons"]["binderhub_url"] == "https://mybinder.org"
    assert config["html"] == {"use_repository_button": True, "use_issues_button": True}


@pytest.mark.parametrize("place", [None, ELSEWHERE, GITHUB])
def test_every_chapter_says_how_to_run_it(tiny, place):
    told = address.how_to_run(source.find_chapter(tiny, "one"), place)
    assert 'make chapter NAME=one PARAMS="seed=1"' in told
    assert re.findall(r"https://[^>@]*", told.replace("git+", "")) == (
        [] if place is None else [place.url] if place == ELSEWHERE else [place.url] * 2
    )
    line = '%pip install -q "gt2lite[chapters] @ git+https://github.com/someone/fork@stable"'
    assert (line in told) == (place == GITHUB)


def outward(page):
    """Return the links of a page that leave the book, but for the makers of its theme."""
    links = set(re.findall(r'href="(https?://[^"]*)"', page))
    makers = ("sphinx", "executablebooks", "pydata", "ebp.", "jupyterbook")
    return {link for link in links if not any(maker in link for maker in makers)}


@pytest.mark.slow
def test_pages_have_buttons_where_the_address_is_known(tiny):
    page = (compiled(tiny, address=GITHUB) / "chapters" / "one.html").read_text()
    assert {link.split("?")[0] for link in outward(page)} == {
        GITHUB.url,
        f"{GITHUB.url}/issues/new",
        "https://mybinder.org/v2/gh/someone/fork/stable",
        "https://colab.research.google.com/github/someone/fork/blob/stable/chapters/one.ipynb",
    }


@pytest.mark.slow
def test_pages_have_no_link_where_the_address_is_not_known(tiny):
    page = (compiled(tiny) / "chapters" / "one.html").read_text()
    text = re.sub(r"<[^>]*>", "", page)
    assert "make chapter NAME=one" in text
    assert "pip install" not in text
    assert outward(page) == set()


def test_no_source_names_an_address_of_the_project():
    """Whoever registers such an address would have their code run by readers."""
    named = re.compile(r"(?:github|gitlab)\.com[/:][\w.-]+/gt2lite", re.IGNORECASE)
    skipped = {".git", ".venv", "_build", "node_modules"}
    found = []
    for folder, names, files in os.walk(ROOT):
        names[:] = [name for name in names if name not in skipped and not name.endswith("cache")]
        for name in files:
            if name.endswith((".py", ".md", ".ipynb", ".yml", ".yaml", ".toml", ".cff", ".txt")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8", errors="replace") as text:
                    found += [path] if named.search(text.read()) else []
    assert found == []
