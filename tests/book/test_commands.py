"""Commands of the book: variables are data, parameters keep their type, errors take one line."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time

import pytest
from tinybook import add_commands, cell, notebook, plain_environment, write_chapter

book = importlib.import_module("book")
own = importlib.import_module("own")
psutil = importlib.import_module("psutil")
source = importlib.import_module("builder.source")

HOSTILE = ["x'; touch P; echo '", "$(touch P)", "`touch P`", "$(shell touch P)", "x & touch P #"]
not_windows = pytest.mark.skipif(
    os.name == "nt" or shutil.which("make") is None, reason="needs make, a POSIX shell and signals"
)


@not_windows
@pytest.mark.parametrize("value", HOSTILE)
def test_no_variable_of_make_runs_code(tiny, value):
    add_commands(tiny)
    (tiny / "pytest.py").write_text(  # a stand-in that writes down what it got
        "import json, os, sys\n"
        "names = ('NAME', 'PARAMS', 'PROFILE', 'ARGS')\n"
        "got = {'words': sys.argv[1:], **{name: os.environ.get(name) for name in names}}\n"
        "open('got.json', 'w').write(json.dumps(got))\n"
    )
    variables = dict.fromkeys(["NAME", "PARAMS", "PROFILE", "ARGS"], value)
    for words, more in (([f"{name}={value}" for name in variables], {}), ([], variables)):
        environment = {**plain_environment(), **more}
        subprocess.run(["make", "test", *words], cwd=tiny, env=environment, check=True)
        got = json.loads((tiny / "got.json").read_text())
        assert got.pop("words")[-len(shlex.split(value)) :] == shlex.split(value)
        assert got == variables
    assert not (tiny / "P").exists()


VALUES = [
    1e-5, 1e300, 5e-324, -0.0, 0.1, float("inf"), 3, 10**30, True, None,
    "1e5", "yes", "null", "~", "0x10", "12:30:45", "2020-01-01", "=", "", "a b", "🎈 ∀ü", "\\n",
    "line\nline", "# no comment", "{seed}", "$(touch P)", "__import__('os').system('touch P')",
    [1e-5, [2, "1e5", [None, True]]], {"a": [1e-7, {"yes": "no"}]},
]  # fmt: skip


@pytest.mark.slow
def test_every_value_arrives_in_the_chapter_as_it_is_and_a_tuple_as_a_list(tiny, capsys):
    given = {f"p{index}": repr(value) for index, value in enumerate([*VALUES, (1, (2,))])}
    given = {name: text.replace("inf", "1e999") for name, text in given.items()}
    lines = "\n".join(f"{name} = None" for name in given)
    write_chapter(tiny, "one", f"print(ascii([{', '.join(given)}]))", parameters=lines)
    params = shlex.join(f"{name}={text}" for name, text in given.items())
    assert book.main(["chapter", "one", "--params", params], root=tiny) == 0
    assert "parameters of one, with their defaults:\n  p0 = None\n" in capsys.readouterr().out
    (output,) = (tiny / "_build" / "runs").glob("*.ipynb")
    (printed,) = source.read_notebook(output)["cells"][-1]["outputs"]
    assert printed["text"].strip() == ascii([*VALUES, [1, [2]]])
    assert not list(tiny.rglob("P"))


SLIPS = {
    "chapter": "which chapter?",
    "chapter three": "there is no chapter 'three', only 'one', 'two'",
    "build --profile fast": "there is no profile 'fast', only 'full', 'quick'",
    'chapter one --params "seed=\'3"': "cannot be read",
    "chapter one --params seed": "name=value",
    "chapter one --params se-ed=3": "name=value",
    "chapter one --params sead=3": "no parameter 'sead', only 'seed', 'rate'",
    "chapter one --params seed=1e-5": "of type int (default 1), got 1e-05",
    "chapter one --params seed=True": "of type int (default 1), got True",
    "chapter one --params rate=1/3": "of type float (default 0.5), got '1/3'",
    "chapter one --params steps=3": "of type list (default [0.1]), got 3",
}


@pytest.mark.parametrize("command", SLIPS)
def test_a_slip_on_the_command_line_gets_one_line(tiny, capsys, monkeypatch, command):
    for name in ("NAME", "PARAMS", "PROFILE", "SOLUTIONS"):  # as make may have set them
        monkeypatch.delenv(name, raising=False)
    write_chapter(tiny, "one", "pass", parameters="seed = 1\nrate = 0.5\nsteps = [0.1]")
    assert book.main(shlex.split(command), root=tiny) == 1
    message = capsys.readouterr().err
    assert SLIPS[command] in message
    assert message.count("\n") == 1


def test_solutions_are_in_or_out(tiny, capsys, monkeypatch):
    monkeypatch.setenv("SOLUTIONS", "no")
    with pytest.raises(SystemExit):
        book.main(["build"], root=tiny)
    assert "SOLUTIONS must be 1 (with) or 0 (without), got 'no'" in capsys.readouterr().err


ONE = notebook(cell("code", "a", "a = 1", "parameters"), cell("code", "b", "b = 1", "parameters"))
BAD_SOURCES = [
    ("profiles.yml", "full: {", "profiles.yml"),
    ("profiles.yml", "full: {one: {rate: 1e-5}}", "of type float (default 0.5), got '1e-5'"),
    ("profiles.yml", "full: {three: {}}", "names the chapter 'three'"),
    ("one.ipynb", "{", "one.ipynb is not a notebook"),
    ("one.ipynb", None, "_toc.yml names 'chapters/one'"),
    ("one.ipynb", json.dumps(notebook()), "it has 0"),
    ("one.ipynb", json.dumps(ONE), "it has 2"),
]


@pytest.mark.parametrize(("name", "text", "expected"), BAD_SOURCES)
def test_a_bad_source_is_named(tiny, capsys, name, text, expected):
    path = tiny / "chapters" / name
    path.unlink()
    if text:
        path.write_text(text)
    assert book.main(["build", "--profile", "full"], root=tiny) == 1
    message = capsys.readouterr().err
    assert expected in message
    assert "Traceback" not in message


@pytest.mark.parametrize("code", ["a = 1\nb = a + 1", "import os", "a = b = 1", "x, y = 1, 2"])
def test_a_parameters_cell_holds_literals_only(tiny, code):
    write_chapter(tiny, "one", "pass", parameters=code)
    with pytest.raises(source.BookError, match="name = literal"):
        source.find_chapter(tiny, "one")


def test_own_data_reach_the_chapter_as_parameters(tmp_path, monkeypatch):
    given = {"CSV": "a b/houses.csv", "TARGET": "price in $", "LEVELS": "0.8, 0.9", "GROUP": "town"}
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "houses.csv").touch()
    parameters = own.parameters(given, own.ROOT)
    assert parameters["levels"] == [0.8, 0.9]
    assert (parameters["target"], parameters["groups"]) == ("price in $", "town")
    source.check_parameters(source.find_chapter(own.ROOT, own.CHAPTER), parameters, "own")
    for change in ({"CSV": ""}, {"CSV": "none.csv"}, {"TARGET": ""}, {"LEVELS": "many"}):
        with pytest.raises(source.BookError, match=next(iter(change))):
            own.parameters(given | change, own.ROOT)


# A build that is stopped ends everything that it started

# A chapter with a worker, which writes a file when it has begun and then does not end.
SLEEPS = """\
import os, pathlib, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(os.environ["BEGUN"]).touch()
while True:
    try:
        time.sleep(600)
    except KeyboardInterrupt:
        pass
"""


def start(root, command):
    """Start a build and return it with all its descendants, once its chapter has begun."""
    begun = root / "begun"
    build = subprocess.Popen(
        command, cwd=root, env={**plain_environment(), "BEGUN": str(begun)},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        start_new_session=True,
        # whoever runs the tests may ignore it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not begun.exists():
        assert build.poll() is None and time.monotonic() < deadline, "the chapter did not begin"
        time.sleep(0.05)
    return build, psutil.Process(build.pid).children(recursive=True)


@pytest.mark.slow
@not_windows
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "KILL"])
def test_after_a_signal_no_process_is_left(tiny, number):
    add_commands(tiny)
    write_chapter(tiny, "one", SLEEPS)
    keyboard = number == signal.SIGINT
    command = ["make", "book"] if keyboard else [sys.executable, "tools/book.py", "build"]
    build, started = start(tiny, command)
    assert len(started) >= 3  # the runner, its kernel, and the worker of that
    # to the whole group, as a terminal sends it, or to the build alone
    (os.killpg if keyboard else os.kill)(build.pid, number)
    _, said = build.communicate(timeout=60)
    _, left = psutil.wait_procs(started, timeout=20)
    left = [p for p in left if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
    for process in left:
        process.kill()  # a test that fails leaves nothing running either
    assert not left
    assert build.returncode != 0
    assert "Traceback" not in said.decode()
    assert ("book: stopped; chapters that had finished are kept" in said.decode()) == keyboard


@not_windows
def test_a_request_to_end_is_answered_like_the_keyboard(capsys):
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert book.finish("book", lambda: os.kill(os.getpid(), signal.SIGTERM)) == 130
    finally:
        signal.signal(signal.SIGTERM, before)
    assert capsys.readouterr().err == "book: stopped\n"
