"""The distributions: what is in them, and what their environment is made of."""

from __future__ import annotations

import re
import sys
import tarfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
wheel = import_module("wheel")

needs_hatchling = pytest.mark.skipif(find_spec("hatchling") is None, reason="needs hatchling")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return wheel.build(ROOT, tmp_path_factory.mktemp("dist"), "sdist", "wheel")


@needs_hatchling
def test_the_wheel_holds_every_file_of_the_package_and_the_data(built):
    names = set(wheel.contents(built[1]))
    package = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "gt2lite").rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".pyo")
    }
    assert package <= names
    assert {f"gt2lite/data/{name}.csv.gz" for name in ("aids", "pm", "pp", "ww")} <= names
    assert all(re.match(r"gt2lite(-[\d.]+\.dist-info)?/", name) for name in names)


@needs_hatchling
def test_the_sdist_gives_the_same_wheel(built, tmp_path):
    (tmp_path / "sdist").mkdir()
    folder = wheel.unpack(built[0], tmp_path / "sdist")
    (again,) = wheel.build(folder, tmp_path / "built", "wheel")
    assert wheel.contents(again) == wheel.contents(built[1])


@needs_hatchling
def test_the_sdist_holds_what_make_needs(built):
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"Makefile", "requirements.lock", "tools/smoke.py", "tests/test_wheel.py"} <= names
    assert not [name for name in names if name.startswith((".venv/", "_build/", "dist/"))]


def test_the_environment_has_the_locked_dependencies_with_hashes_and_no_more():
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    text = wheel.locked(lock, wheel.own_dependencies(ROOT))
    assert sorted(re.findall(r"^([\w-]+)==", text, re.MULTILINE)) == ["autograd", "numpy"]
    for entry in re.split(r"\n(?=\w)", text):
        assert "--hash=sha256:" in entry
        assert not entry.endswith("\\")


def test_a_dependency_that_is_not_locked_is_named():
    with pytest.raises(wheel.WheelError, match="no entry for numpi"):
        wheel.locked("numpy==1 \\\n    --hash=sha256:0\n", ["numpi"])


def test_a_command_that_fails_is_named(tmp_path):
    with pytest.raises(wheel.WheelError, match="exit\\(3\\)"):
        wheel.run([sys.executable, "-c", "exit(3)"], tmp_path)
