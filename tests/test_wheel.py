"""The distributions: what is in them, and what their environment is made of."""

from __future__ import annotations

import importlib
import re
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

NEEDED = ("hatchling", "jupyter_book", "psutil")
if any(find_spec(name) is None for name in NEEDED):
    pytest.skip("needs the extras `book` and `dev`", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[1]
wheel = importlib.import_module("wheel")


def test_the_sdist_holds_what_make_needs_and_its_wheel_the_package_and_the_data(tmp_path):
    sdist, built = wheel.build(ROOT, tmp_path)
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"Makefile", "requirements.lock", "tools/smoke.py", "tests/test_wheel.py"} <= names
    assert not [name for name in names if name.startswith((".venv/", "_build/", "dist/"))]
    with zipfile.ZipFile(built) as archive:
        names = set(archive.namelist())
    files = (path for path in (ROOT / "gt2lite").rglob("*") if path.is_file())
    package = {path.relative_to(ROOT).as_posix() for path in files if path.suffix != ".pyc"}
    assert package <= names
    assert {f"gt2lite/data/{name}.csv.gz" for name in ("aids", "pm", "pp", "ww")} <= names
    assert all(re.match(r"gt2lite(-[\d.]+\.dist-info)?/", name) for name in names)


def test_the_environment_has_the_locked_dependencies_with_hashes_and_no_more():
    text = wheel.locked(ROOT)
    assert sorted(re.findall(r"^([\w-]+)==", text, re.MULTILINE)) == ["autograd", "numpy"]
    for entry in re.split(r"\n(?=\w)", text.strip()):
        assert "--hash=sha256:" in entry
        assert not entry.endswith("\\")
