"""Build the book, print it, or run one chapter of it.

python tools/book.py build --profile full|quick     pages: _build/html/index.html
python tools/book.py pdf --profile full|quick       one PDF: _build/gt2lite.pdf (needs Chromium)
python tools/book.py slides --profile full|quick    lectures as PDF: _build/slides/ (needs Chromium)
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
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import partial
from pathlib import Path
from subprocess import CalledProcessError

import yaml
from builder import browser, pages, paper, slides, source
from builder.execute import Job, run_all, shared_inputs
from builder.lab import open_lab
from builder.offline import outside_loads
from builder.source import BookError, Parameters

ROOT = Path(__file__).resolve().parents[1]
say = partial(print, flush=True)
# Errors that take one line: of the book's sources, files, missing packages, commands that failed.
EXPECTED = (
    BookError, OSError, ImportError, yaml.YAMLError, BrokenProcessPool, CalledProcessError
)  # fmt: skip


def execute(root: Path, profile: str) -> None:
    """Run the chapters whose inputs changed since their last run."""
    chapters, inputs = source.chapters(root), shared_inputs(root)
    given = source.profile_parameters(root, chapters, profile)
    jobs = []
    for chapter in chapters:
        output, failed = (
            root / "_build" / folder / profile / f"{chapter.document}.ipynb"
            for folder in ("executed", "failed")
        )
        job = Job(chapter, given.get(chapter.name, {}), output, failed, inputs)
        if job.is_current():
            say(f"  {chapter.name:<24} unchanged, not run again")
        else:
            jobs.append(job)
    _run(jobs, root)


def _run(jobs: list[Job], root: Path) -> None:
    """Run chapters and print a line for each; once all have ended, raise if some failed."""
    failures = []
    with closing(run_all(jobs, root)) as runs:
        for count, (job, seconds, error) in enumerate(runs, 1):
            line = f"  {job.chapter.name:<24} {seconds:6.1f} s  {count}/{len(jobs)}"
            if error:
                line += f"  FAILED: {error}"
                if job.failed.is_file():  # a process that was killed leaves none
                    line += f"\n    traceback: {job.failed.relative_to(root)}"
                failures.append(line)
            say(line)
    if failures:
        raise BookError("\n".join(["these chapters failed:", *failures]))


def compile_book(root: Path, profile: str, solutions: bool, builder: str) -> Path:
    """Execute what has to be executed, lay out and compile the book; return the folder of pages."""
    say(f"book: profile {profile}")
    execute(root, profile)
    paper = builder == "singlehtml"
    staged = pages.stage(root, profile, solutions=solutions, paper=paper)
    return pages.compile_pages(staged, builder)


def build_book(root: Path, profile: str, solutions: bool = True) -> Path:
    """Build and check the whole book; return the folder of its pages."""
    html = compile_book(root, profile, solutions, "html")
    outside = list(outside_loads(html))
    if outside:
        raise BookError("\n  ".join(["the pages would load from other hosts:", *outside]))
    slides.write_slides(root, html, root / "_build" / "executed" / profile)
    say(f"book: {(html / 'index.html').relative_to(root)}")
    return html


def print_book(root: Path, profile: str, solutions: bool = True) -> Path:
    """Build the whole book as one page, print that, and return the PDF."""
    with browser.chromium():
        pass  # an error comes before the chapters run, not after
    html = compile_book(root, profile, solutions, "singlehtml")
    target = root / "_build" / "gt2lite.pdf"
    with browser.chromium() as opened:
        paper.print_book(opened, html / "index.html", target, root)
    say(f"book: {target.relative_to(root)}")
    return target


def make_slides(root: Path, profile: str) -> None:
    """Build the book, which has the slides as pages, and print them."""
    with browser.chromium():
        pass
    print_slides(root, build_book(root, profile))


def print_slides(root: Path, html: Path) -> None:
    """Print the slides of the book in `html` to PDF files."""
    folder = root / "_build" / "slides"
    folder.mkdir(exist_ok=True)
    with browser.chromium() as opened:
        for page in sorted((html / "slides").glob("*.html")):
            target = folder / f"{page.stem}.pdf"
            browser.print_page(opened, page, target)
            say(f"slides: {target.relative_to(root)}")


def run_chapter(root: Path, name: str, given: Parameters) -> None:
    """Run one chapter with changed parameters and print where it is."""
    chapter = source.find_chapter(root, name)
    say(f"parameters of {chapter.name}, with their defaults:")
    for line in source.parameter_lines(chapter):
        say(f"  {line}")
    source.check_parameters(chapter, given, "--params")
    words = [f"{key}={value}" for key, value in given.items()]
    slug = re.sub(r"[^\w.=,-]+", "", "--".join([chapter.name, *words]), flags=re.ASCII)[:120]
    output = root / "_build" / "runs" / f"{slug}.ipynb"
    _run([Job(chapter, given, output, output, "")], root)
    say(f"book: {output.relative_to(root)}")


def finish(name: str, work: Callable[[], object], kept: str = "stopped") -> int:
    """Do the work of a command and return its exit code, with one line if it did not end well.

    The line begins with the name of the command; `kept` is printed after Ctrl-C or SIGTERM.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        work()
    except EXPECTED as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{name}: {kept}", file=sys.stderr)
        return 128 + signal.SIGINT
    return 0


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the command line; return 0 if all went well."""
    commands = {
        "build": lambda: build_book(root, given.profile, given.solutions == "1"),
        "pdf": lambda: print_book(root, given.profile, given.solutions == "1"),
        "slides": lambda: make_slides(root, given.profile),
        "lab": lambda: open_lab(root, given.profile, given.words, given.solutions == "1"),
        "chapter": lambda: run_chapter(
            root,
            "".join(given.words) or os.environ.get("NAME", ""),
            source.parse_parameters(given.params),
        ),
    }
    parser = argparse.ArgumentParser(prog="book.py", description="Build the book.")
    parser.add_argument("command", choices=commands)
    parser.add_argument("words", nargs="*", help="a chapter, such as type2_sets; for lab, after --")
    parser.add_argument("--profile", help="full (default) or quick")
    parser.add_argument("--solutions", help="1 (default), or 0: pages without them")
    parser.add_argument("--params", help='of a chapter, such as "seed=3 epochs=5"')
    for name, default in {"profile": "full", "solutions": "1", "params": ""}.items():
        parser.set_defaults(**{name: os.environ.get(name.upper()) or default})
    given = parser.parse_args(arguments)
    if given.solutions not in ("0", "1"):
        parser.error(f"SOLUTIONS must be 1 (with) or 0 (without), got {given.solutions!r}")
    if given.words and given.command not in ("lab", "chapter"):
        parser.error(f"{given.command} takes no further words, got {' '.join(given.words)!r}")
    kept = "stopped; chapters that had finished are kept"
    return finish("book", commands[given.command], kept)


if __name__ == "__main__":
    sys.exit(main())
