"""make lab: copies to work on, which keep what the reader did to them."""

from __future__ import annotations

import importlib
import json

import pytest
from tinybook import write_chapter

book = importlib.import_module("book")
lab = importlib.import_module("builder.lab")
source = importlib.import_module("builder.source")


def copied(root, executed="nowhere"):
    return list(lab.copy_chapters(root, root / executed, root / "lab"))


def test_copies_say_how_to_run_with_other_parameters_and_sources_stay(tiny):
    before = (tiny / "chapters" / "one.ipynb").read_bytes()
    assert copied(tiny) == []
    text = source.text_of(source.read_notebook(tiny / "lab" / "one.ipynb")["cells"][1])
    assert 'make chapter NAME=one PARAMS="seed=1"' in text
    assert (tiny / "chapters" / "one.ipynb").read_bytes() == before


def test_a_copy_shows_the_outputs_of_its_run(tiny):
    done = json.loads((tiny / "chapters" / "one.ipynb").read_text())
    shown = {"output_type": "stream", "name": "stdout", "text": "seed 1"}
    done["cells"][-1]["outputs"] = [shown]
    (tiny / "done" / "chapters").mkdir(parents=True)
    (tiny / "done" / "chapters" / "one.ipynb").write_text(json.dumps(done))
    copied(tiny, "done")
    assert source.read_notebook(tiny / "lab" / "one.ipynb")["cells"][-1]["outputs"] == [shown]


def test_what_a_reader_changed_is_kept_and_told_and_the_rest_is_renewed(tiny):
    copied(tiny)
    mine = tiny / "lab" / "one.ipynb"
    mine.write_text(mine.read_text().replace("print", "repr"))
    changed = mine.read_text()
    write_chapter(tiny, "two", "print('two')", prose="Better prose.")
    assert copied(tiny) == ["one"]
    assert mine.read_text() == changed
    assert "Better prose." in (tiny / "lab" / "two.ipynb").read_text()


def test_a_list_of_copies_that_is_damaged_keeps_them_all(tiny):
    copied(tiny)
    (tiny / "lab" / lab._WRITTEN).write_text("{")
    assert copied(tiny) == ["one", "two"]


def test_without_jupyterlab_the_answer_comes_before_the_work(tiny, monkeypatch, capsys):
    monkeypatch.setattr(lab, "find_spec", lambda name: None)
    assert book.main(["lab"], root=tiny) == 1
    assert "make lab brings it" in capsys.readouterr().err
    assert not (tiny / "_build").exists()


def test_jupyterlab_is_opened_in_the_folder_of_copies_and_its_end_is_told(tmp_path, monkeypatch):
    """A stand-in for JupyterLab writes down how it was called."""
    (tmp_path / "jupyterlab.py").write_text(
        "import json, os, sys\n"
        "told = [sys.argv[1:], os.environ['GT2LITE_STORE']]\n"
        "open(sys.argv[2] + '/told.json', 'w').write(json.dumps(told))\n"
        "sys.exit(3 if '--bad' in sys.argv else 0)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    lab.start(tmp_path, tmp_path / "build", ["--no-browser"])
    words, store = json.loads((tmp_path / "told.json").read_text())
    assert words == ["--ServerApp.root_dir", str(tmp_path), "--no-browser"]
    assert store == str(tmp_path / "build" / "store")
    with pytest.raises(source.BookError, match="ended with code 3"):
        lab.start(tmp_path, tmp_path / "build", ["--bad"])
    monkeypatch.setattr(lab.os, "geteuid", lambda: 0, raising=False)
    with pytest.raises(source.BookError, match=r"ended with code 3; .* ARGS=--allow-root"):
        lab.start(tmp_path, tmp_path / "build", ["--bad"])
    with pytest.raises(source.BookError, match=r"ended with code 3$"):
        lab.start(tmp_path, tmp_path / "build", ["--bad", "--allow-root"])
