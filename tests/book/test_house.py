"""What stands around the project: citation, hooks, Binder and make say what is so."""

from __future__ import annotations

import os
import re
import shlex
import tomllib

import pytest
import yaml
from tinybook import ROOT

import gt2lite

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def load(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_the_citation_has_the_version_of_the_package():
    assert load("CITATION.cff")["version"] == gt2lite.__version__


def test_hooks_need_no_activated_environment():
    (local,) = load(".pre-commit-config.yaml")["repos"]
    commands = [shlex.split(hook["entry"])[0] for hook in local["hooks"]]
    assert commands
    assert all(command.startswith(".venv/bin/") for command in commands)


def test_binder_installs_the_lock_with_its_hashes_and_then_the_project():
    folder = ROOT / ".binder"
    lines = (folder / "requirements.txt").read_text().splitlines()
    (wanted,) = (line for line in lines if line and not line.startswith("#"))
    option, name = wanted.split()
    assert option == "-r"
    assert (folder / name).resolve() == ROOT / "requirements.lock"
    script = folder / "postBuild"
    assert (
        script.read_text().splitlines()[-1].endswith("--no-deps --no-build-isolation --editable .")
    )
    assert os.name == "nt" or os.access(script, os.X_OK)


@pytest.mark.parametrize("package", ["mapie", "myst-nb", "matplotlib", "scikit-learn", "joblib"])
def test_the_lock_holds_what_chapters_import(package):
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert re.search(rf"^{package}==", text, re.MULTILINE)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_named_by_its_commit_with_the_version_beside_it(path):
    used = re.findall(r"uses:\s*(.*)", path.read_text(encoding="utf-8"))
    assert used
    for action in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", action)


def test_each_action_has_one_commit():
    texts = [path.read_text(encoding="utf-8") for path in WORKFLOWS]
    pins = {pin for text in texts for pin in re.findall(r"uses:\s*(\S+)@(\S+)", text)}
    assert len(pins) == len({name for name, _ in pins})


def test_the_linter_lets_no_tag_stand_for_a_commit():
    config = load(".github/zizmor.yml")["rules"]["unpinned-uses"]["config"]
    assert config == {"policies": {"*": "hash-pin"}}


@pytest.mark.parametrize("extra", ["bench", "lab"])
def test_extras_outside_the_lock_pin_their_versions(extra):
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    names = [wanted for wanted in extras[extra] if not re.search("==|^gt2lite", wanted)]
    locked = [re.split(r"[<>=~!]", name)[0] for name in names]
    assert all(re.search(rf"^{name}==", lock, re.MULTILINE) for name in locked)
