"""What stands around the project: citation, hooks, Binder and make say what is so."""

from __future__ import annotations

import os
import re
import shlex

import pytest
import yaml
from tinybook import ROOT

import gt2lite


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
