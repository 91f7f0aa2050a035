"""What users write after make reaches the chapters as data: no code, and of the same type."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import shutil
import subprocess

import pytest
from tinybook import plain_environment, write_chapter

book = importlib.import_module("book")
execute = importlib.import_module("builder.execute")
source = importlib.import_module("builder.source")
stamps = importlib.import_module("builder.execute")

ALWAYS = ["-n", "auto", "--dist", "worksteal"]  # what make tells pytest
HOSTILE = {
    "quotes": "x'; touch P; echo '",
    "double quotes": '"; touch P; "',
    "substitution": "$(touch P)",
    "backquotes": "`touch P`",
    "escaped substitution": "$$(touch P)",
    "make's own function": "$(shell touch P)",
    "make's own function in braces": "${shell touch P}",
    "pipe": "x | touch P",
    "background": "x & touch P #",
    "newline": "x\ntouch P\n",
}
needs_make = pytest.mark.skipif(
    os.name == "nt" or shutil.which("make") is None, reason="needs make and a POSIX shell"
)


def make(root, *words, **variables):
    return subprocess.run(
        ["make", *words], cwd=root, env={**plain_environment(), **variables},
        capture_output=True, encoding="utf-8", timeout=300, check=False,
    )  # fmt: skip


@pytest.fixture
def told(tiny_with_commands):
    """A book whose pytest writes down what it was told."""
    (tiny_with_commands / "pytest.py").write_text(
        "import json, os, sys\n"
        "names = ('NAME', 'PARAMS', 'PROFILE', 'ARGS')\n"
        "told = {'words': sys.argv[1:], **{name: os.environ.get(name) for name in names}}\n"
        "open('told.json', 'w').write(json.dumps(told))\n"
    )
    return tiny_with_commands


# From make to the programs


@needs_make
@pytest.mark.parametrize("way", ["words", "environment"])
@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
def test_no_variable_of_make_runs_code(told, value, way):
    variables = dict.fromkeys(["NAME", "PARAMS", "PROFILE", "ARGS"], value)
    if way == "words":
        done = make(told, "test", *(f"{name}={value}" for name in variables))
    else:
        done = make(told, "test", **variables)
    assert done.returncode == 0, done.stderr
    said = json.loads((told / "told.json").read_text())
    assert said.pop("words") == [*ALWAYS, *shlex.split(value)]
    assert said == variables
    assert not (told / "P").exists()


@needs_make
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("-k reduction", ["-k", "reduction"]),
        ("-k 'a or b'", ["-k", "a or b"]),
        ('-k "a or b" tests/x.py::y[1]', ["-k", "a or b", "tests/x.py::y[1]"]),
        ("", []),
    ],
)
def test_args_reach_pytest_as_words(told, arguments, words):
    assert make(told, "test", f"ARGS={arguments}").returncode == 0
    assert json.loads((told / "told.json").read_text())["words"] == [*ALWAYS, *words]


@needs_make
def test_args_that_cannot_be_split_get_one_line(told):
    done = make(told, "test", "ARGS=-k 'a")
    assert done.returncode != 0
    assert done.stderr.splitlines()[0] == "ARGS: No closing quotation"
    assert "Traceback" not in done.stderr


@needs_make
@pytest.mark.parametrize("target", ["chapter", "book"])
def test_the_commands_of_the_book_run_no_code_either(tiny_with_commands, target):
    value = HOSTILE["quotes"]
    done = make(tiny_with_commands, target, f"NAME={value}", f"PROFILE={value}")
    assert done.returncode != 0
    assert done.stderr.startswith("book: there is no ")
    assert value in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tiny_with_commands / "P").exists()


# From the command line into a chapter

VALUES = [
    1e-5, 1e5, 1e300, 5e-324, -0.0, 0.1, 1.0, float("inf"), 3, -3, 10**30, True, False, None,
    "1e5", "1e-5", "yes", "no", "null", "~", "true", "0x10", "0o10", "12:30:45", "2020-01-01", "=",
    "", " ", "a b", "🎈 ∀ü", "'", '"', "'\"'", "\\", "\\n", "line\nline", "tab\t", "# no comment",
    "{seed}", "$(touch P)", "__import__('os').system('touch P')", "a; b", "<<: *x", "- x", "\x7f",
    [1e-5, [2, "1e5", [None, True, "🎈\n"]]], [], {"a": [1e-7, {"yes": "no"}]},
]  # fmt: skip


@pytest.mark.slow
def test_every_value_arrives_in_the_chapter_as_it_is(tiny):
    names = [f"p{index}" for index in range(len(VALUES))]
    lines = "\n".join(f"{name} = None" for name in names)
    write_chapter(tiny, "one", f"print(ascii([{', '.join(names)}]))", parameters=lines)
    given = [f"{name}={value!r}" for name, value in zip(names, VALUES, strict=True)]
    given[VALUES.index(float("inf"))] = f"p{VALUES.index(float('inf'))}=1e999"
    assert book.main(["chapter", "one", "--params", shlex.join(given)], root=tiny) == 0
    (output,) = (tiny / "_build" / "runs").glob("*.ipynb")
    ((printed,),) = [
        c["outputs"] for c in source.read_notebook(output)["cells"] if c["id"] == "work"
    ]
    assert "".join(printed["text"]).strip() == ascii(VALUES)
    assert not list(tiny.rglob("P"))


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["plain", "with {seed} in it"])
def test_a_small_number_in_params_is_a_number(tmp_path, tiny, folder):
    root = tmp_path / folder
    shutil.copytree(tiny, root, ignore=shutil.ignore_patterns(folder))
    write_chapter(root, "one", "print(type(rate).__name__, rate)")
    assert book.main(["chapter", "one", "--params", "rate=1e-5"], root=root) == 0
    (output,) = (root / "_build" / "runs").glob("*.ipynb")
    assert "float 1e-05\\n" in output.read_text()


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ("seed='3", "cannot be read: No closing quotation"),
        ("seed", "must be written name=value, got 'seed'"),
        ("=3", "must be written name=value, got '=3'"),
        ("se-ed=3", "must be written name=value, got 'se-ed=3'"),
        ("sead=3", "no parameter 'sead', only 'seed', 'rate'"),
        ("seed=1e-5", "is of type int (default 1), got 1e-05"),
        ("seed=True", "is of type int (default 1), got True"),
        ("rate=1/3", "is of type float (default 0.5), got '1/3'"),
        ("seed=__import__('os')", "is of type int (default 1), got '__import__(os)'"),
        ("seed=" + "9" * 5000, "is of type int (default 1), got '999"),
        ("seed=" + "[" * 5000, "is of type int (default 1), got '[[["),
        ("seed={[]:1}", "is of type int (default 1), got '{[]:1}'"),
        ("steps=3", "is of type list (default [0.1]), got 3"),
        ("steps=['\"a\"']", "is of type list (default [0.1]), got "),
        ("any={1,2}", "must be made of numbers, texts, lists and tables, got {1, 2}"),
        ("any={1:2}", "must be made of numbers, texts, lists and tables, got {1: 2}"),
        (r"any=b\'x\'", "must be made of numbers, texts, lists and tables, got b'x'"),
        ("any=1j", "must be made of numbers, texts, lists and tables, got 1j"),
        ("any=\udcff", r"must be made of numbers, texts, lists and tables, got '\udcff'"),
        (r"any='\d'", None),
    ],
)  # fmt: skip
def test_a_bad_parameter_gets_one_line(tiny, capsys, monkeypatch, params, expected):
    lines = "seed = 1\nrate = 0.5\nsteps = [0.1]\nany = None"
    write_chapter(tiny, "one", "pass", parameters=lines)
    monkeypatch.setattr(execute, "_Run", None)  # nothing is to run
    if expected is None:  # a word that the parser of literals would warn of
        assert source.parse_parameters(params) == {"any": r"\d"}
        return
    assert book.main(["chapter", "one", "--params", params], root=tiny) == 1
    message = capsys.readouterr().err
    assert expected in message
    assert message.count("\n") == 1


@pytest.mark.slow
def test_a_long_text_in_another_script_names_a_file_that_can_be(tiny):
    write_chapter(tiny, "one", "print(len(word))", parameters="word = ''")
    assert book.main(["chapter", "one", "--params", f"word={'語' * 200}"], root=tiny) == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("full: {", "is not YAML: while parsing"),
        ("full: [1, 2]", "must hold profile -> chapter -> parameters"),
        ("full: {one: 3}", "must hold profile -> chapter -> parameters"),
        ("full: {one: {rate: 1e-5}}", "is of type float (default 0.5), got '1e-5'"),
        ("full: {one: {rate: 2020-01-01}}", "is of type float (default 0.5), got datetime.date"),
    ],
)
def test_a_bad_profile_gets_one_line(tiny, capsys, text, expected):
    (tiny / "chapters" / "profiles.yml").write_text(text)
    assert book.main(["build", "--profile", "full"], root=tiny) == 1
    message = capsys.readouterr().err
    assert expected in message
    assert message.count("\n") == 1


@pytest.mark.slow
def test_a_chapter_whose_runner_is_killed_is_one_that_failed(tiny, capsys):
    write_chapter(tiny, "one", "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)")
    assert book.main(["chapter", "one", "--params", ""], root=tiny) == 1
    message = capsys.readouterr().err
    assert message.startswith("book: one: ")
    assert "Traceback" not in message


# Damaged stamps


def with_changes(**changes):
    """Return what rewrites a stamp with other values, or without those that are None."""

    def rewrite(text):
        stamp = {**json.loads(text), **changes}
        return json.dumps({key: value for key, value in stamp.items() if value is not None})

    return rewrite


DAMAGE = {
    "empty": "",
    "cut off": lambda text: text[: len(text) // 2],
    "no JSON": "{inputs",
    "not a table": "[1, 2]",
    "a number": "3",
    "no seconds": with_changes(seconds=None),
    "seconds in words": with_changes(seconds="many"),
    "seconds that are no number": with_changes(seconds=float("nan")),
    "inputs in a list": with_changes(inputs=[1]),
    "deep": "[" * 100_000,
    "other letters": b"\xff\xfe\x00",
    "a folder": None,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_stamp_is_none_and_is_written_again(tiny, damage):
    chapter = source.find_chapter(tiny, "one")
    output = tiny / "_build" / "one.ipynb"
    job = execute.Job(chapter, {}, output, output)
    execute.write_notebook(output, chapter.notebook)
    stamps.write_stamp(execute.ChapterRun(job, 1.0, None), "inputs")
    assert stamps.is_current(job, "inputs")
    path = stamps.stamp_path(output)
    good = path.read_text()
    if damage is None:
        path.unlink()
        (path / "folder").mkdir(parents=True)
    else:
        bad = damage(good) if callable(damage) else damage
        path.write_bytes(bad if isinstance(bad, bytes) else bad.encode())
    assert stamps.read_stamp(output) == {}
    assert not stamps.is_current(job, "inputs")
    stamps.write_stamp(execute.ChapterRun(job, 1.0, None), "inputs")
    assert path.read_text() == good


def test_a_folder_where_a_notebook_belongs_gives_way(tiny):
    output = tiny / "_build" / "one.ipynb"
    (output / "folder").mkdir(parents=True)
    assert stamps.read_stamp(output) == {}
    execute.write_notebook(output, {"cells": []})
    assert source.read_notebook(output) == {"cells": []}


def test_a_disk_that_refuses_gets_one_line(tiny, capsys):
    (tiny / "_build").write_text("a file where a folder belongs")
    assert book.main(["chapter", "one"], root=tiny) == 1
    assert capsys.readouterr().err.count("\n") == 1
