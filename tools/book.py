"""Build the book, print it, or run one chapter of it.

python tools/book.py build --profile full|quick     pages: _build/html/index.html
python tools/book.py pdf --profile full|quick       one PDF: _build/gt2lite.pdf (needs Chromium)
python tools/book.py slides --profile full|quick    slides of the chapters: _build/slides/
python tools/book.py lab --profile full|quick       JupyterLab on copies: _build/lab/
python tools/book.py chapter NAME --params "seed=3 epochs=5"    one chapter: _build/runs/

Options that are not given come from the variables PROFILE, NAME, PARAMS and SOLUTIONS: make hands
them on unread. SOLUTIONS=0 leaves the solutions of exercises out of the pages. Under _build/,
`executed/PROFILE/` holds the executed notebooks, `failed/PROFILE/` those that failed, with their
traceback, and `stage/` the book as it was compiled.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from builder import browser, lab, pages, slides
from builder.execute import (
    ChapterRun,
    Job,
    is_current,
    read_stamp,
    run_all,
    shared_inputs,
    write_stamp,
)
from builder.offline import outside_loads
from builder.source import (
    BookError,
    Parameters,
    chapters,
    check_parameters,
    find_chapter,
    parse_parameters,
    profile_parameters,
)

ROOT = Path(__file__).resolve().parents[1]


def execute(root: Path, build: Path, profile: str) -> list[ChapterRun]:
    """Run the chapters whose inputs changed since their last run; return those that failed."""
    found = chapters(root)
    given = profile_parameters(root, found, profile)
    inputs = shared_inputs(root)
    jobs = []
    for chapter in found:
        place = Path(profile) / chapter.path.relative_to(root)
        output, failed = build / "executed" / place, build / "failed" / place
        job = Job(chapter, given[chapter.name], output, failed)
        if is_current(job, inputs):
            seconds = read_stamp(job.output)["seconds"]
            _say(f"  {chapter.name:<24} unchanged, not run again ({seconds:.1f} s when it ran)")
        else:
            jobs.append(job)
    return [run for run in _run(jobs, root, build, inputs) if run.error]


def _run(jobs: list[Job], root: Path, build: Path, inputs: str) -> list[ChapterRun]:
    build.mkdir(parents=True, exist_ok=True)
    ended = []
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with closing(run_all(jobs, root, build, cores or 1)) as runs:
        for run in runs:
            ended.append(run)
            if not run.error:
                write_stamp(run, inputs)
            verdict = f"  FAILED: {run.error}" if run.error else ""
            done = f"{len(ended)}/{len(jobs)}"
            _say(f"  {run.job.chapter.name:<24} {run.seconds:6.1f} s  {done}{verdict}")
    return ended


def _say(line: str) -> None:
    print(line, flush=True)


def stage_book(root: Path, profile: str, solutions: bool = True) -> Path:
    """Execute what has to be executed and lay out the book; return the folder of the build."""
    build = root / "_build"
    _say(f"book: profile {profile}")
    failed = execute(root, build, profile)
    if failed:
        lines = [f"{len(failed)} of the chapters failed, so no pages were made:"]
        for run in failed:
            lines += [f"  {run.job.chapter.name}: {run.error}"]
            lines += [f"    its notebook, with the traceback: {_shown(run.job.failed)}"]
        raise BookError("\n".join(lines))
    banner = pages.QUICK_BANNER if profile == "quick" else None
    executed = build / "executed" / profile
    pages.stage(root, executed, build / "stage", banner=banner, solutions=solutions)
    return build


def build_book(root: Path, profile: str, solutions: bool = True) -> Path:
    """Execute, stage, compile and check the whole book; return the folder of its pages."""
    build = stage_book(root, profile, solutions)
    start = time.monotonic()
    html = pages.compile_pages(build / "stage", build)
    outside = list(outside_loads(html))
    if outside:
        raise BookError("\n  ".join(["the pages would load from other hosts:", *outside]))
    _say(f"  {'pages':<24} {time.monotonic() - start:6.1f} s")
    _say(f"book: {_shown(html / 'index.html')}")
    return html


def print_book(root: Path, profile: str, solutions: bool = True) -> Path:
    """Execute, stage and compile the whole book as one page, print that, and return the PDF."""
    if browser.find_chromium() is None:
        raise BookError(browser.NO_CHROMIUM)  # before the chapters run, not after
    build = stage_book(root, profile, solutions)
    html = pages.compile_pages(build / "stage", build, "singlehtml")
    target = build / "gt2lite.pdf"
    with browser.chromium() as opened:
        browser.print_page(opened, html / "index.html", target)
    _say(f"book: {_shown(target)}")
    return target


def make_slides(root: Path, profile: str) -> None:
    """Build the book and make slides of its chapters."""
    html = build_book(root, profile)
    names = [chapter.name for chapter in chapters(root) if chapter.path.parent.name == "chapters"]
    made = slides.write_slides(html, root / "_build" / "slides", names)
    _say(f"slides: {len(made)} files, such as {_shown(made[0])}; move with the arrow keys")


def open_lab(root: Path, profile: str, words: Sequence[str] = ()) -> None:
    """Copy the chapters for the reader, with the outputs that there are, and open JupyterLab there.

    Nothing is run first: a chapter that `make book` has not run yet has no outputs.

    Args:
        root: the sources.
        profile: of the runs that the copies show.
        words: more for the command line of JupyterLab.
    """
    lab.check()
    build, folder = root / "_build", root / "_build" / "lab"
    for name in lab.copy_chapters(root, build / "executed" / profile, folder):
        _say(f"  {name:<24} is left as you changed it (delete it to have a fresh copy)")
    _say(lab.how_to(_shown(folder)))
    lab.start(folder, words)


def run_chapter(root: Path, name: str, given: Parameters) -> None:
    """Run one chapter with changed parameters and print where it is."""
    chapter = find_chapter(root, name)
    check_parameters(chapter, given, "--params")
    words = [f"{key}={value}" for key, value in given.items()]
    slug = re.sub(r"[^\w.=,-]+", "", "--".join([chapter.name, *words]), flags=re.ASCII)[:120]
    output = root / "_build" / "runs" / f"{slug}.ipynb"
    (run,) = _run([Job(chapter, given, output, output)], root, root / "_build", "")
    if run.error:
        raise BookError(f"{chapter.name}: {run.error}\n  see {_shown(output)}")
    _say(f"book: {_shown(output)}")


def finish(name: str, work: Callable[[], object], kept: str = "stopped") -> int:
    """Do the work of a command and return its exit code, with one line if it did not end well.

    Args:
        name: of the command, which begins the line.
        work: the command.
        kept: what to print after Ctrl-C or SIGTERM.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        work()
    except (OSError, BookError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{name}: {kept}", file=sys.stderr)
        return 128 + signal.SIGINT
    return 0


def _shown(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the command line; return 0 if all went well."""
    given = {name: os.environ.get(name) or default for name, default in
             {"PROFILE": "full", "SOLUTIONS": "1", "NAME": "", "PARAMS": ""}.items()}  # fmt: skip
    parser = argparse.ArgumentParser(prog="book.py", description="Build the book.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in {
        "build": "execute what changed and compile the pages",
        "pdf": "the same as one PDF (needs Chromium)",
        "slides": "make slides of the chapters",
        "lab": "open JupyterLab on copies of the chapters",
    }.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("--profile", default=given["PROFILE"], help="full (default) or quick")
        if name in ("build", "pdf"):
            command.add_argument("--solutions", default=given["SOLUTIONS"], help="0: without them")
        if name == "lab":
            command.add_argument("words", nargs="*", help="for JupyterLab, after --")
    chapter = commands.add_parser("chapter", help="run one chapter with changed parameters")
    chapter.add_argument("name", nargs="?", default=given["NAME"], help="such as type2_sets")
    chapter.add_argument("--params", default=given["PARAMS"], help='such as "seed=3 epochs=5"')
    options = parser.parse_args(arguments)

    def work() -> None:
        solutions = getattr(options, "solutions", "1")
        if solutions not in ("0", "1"):
            raise BookError(f"SOLUTIONS must be 1 (with) or 0 (without), got {solutions!r}")
        if options.command == "build":
            build_book(root, options.profile, solutions == "1")
        elif options.command == "pdf":
            print_book(root, options.profile, solutions == "1")
        elif options.command == "slides":
            make_slides(root, options.profile)
        elif options.command == "lab":
            open_lab(root, options.profile, options.words)
        else:
            run_chapter(root, options.name, parse_parameters(options.params))

    return finish("book", work, "stopped; chapters that had finished are kept")


if __name__ == "__main__":
    sys.exit(main())
