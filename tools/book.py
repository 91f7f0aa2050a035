"""Build the book, print it, or run one chapter of it.

python tools/book.py build --profile full|quick
    executes the chapters that changed and compiles the pages: _build/html/index.html
python tools/book.py pdf --profile full|quick
    prints the same book, executed where it has to be, to one file: _build/gt2lite.pdf
python tools/book.py chapter NAME --params "seed=3 epochs=5"
    runs one chapter with changed parameters: _build/runs/
python tools/book.py lab --profile full|quick
    opens JupyterLab on executed copies of the chapters: _build/lab/
python tools/book.py slides --profile full|quick
    builds the book and makes slides of its chapters: _build/slides/

What the command line leaves open the variables PROFILE, NAME, PARAMS and SOLUTIONS may say: so make
hands them on, whatever characters they hold. SOLUTIONS=0 leaves the solutions of exercises out of
the pages.

What stands where under _build/: `executed/PROFILE/` the executed notebooks, each with a
stamp beside it; `failed/PROFILE/` chapters that failed, with their traceback; `stage/` the
book as it was compiled; `html/` the pages, `singlehtml/` the one that is printed;
`pages.log`, `singlehtml.log` what the compiler said.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from press import browser, lab, pages, slides
from press.address import find_address
from press.execute import ChapterRun, Job, run_all
from press.outside import outside_fetches
from press.processes import finish
from press.source import (
    BookError,
    Parameters,
    chapters,
    check_parameters,
    find_chapter,
    parse_parameters,
    profile_parameters,
)
from press.stamps import is_current, read_stamp, shared_inputs, write_stamp

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
    from tqdm import tqdm

    build.mkdir(parents=True, exist_ok=True)
    ended = []
    bar = tqdm(total=len(jobs), unit="chapter", leave=False, disable=not sys.stderr.isatty())
    with closing(run_all(jobs, root, build, _cores())) as runs, bar:
        for run in runs:
            ended.append(run)
            name = run.job.chapter.name
            if run.error:
                _say(f"  {name:<24} {run.seconds:6.1f} s  FAILED: {run.error}")
            else:
                write_stamp(run, inputs)
                _say(f"  {name:<24} {run.seconds:6.1f} s")
            bar.update()
    return ended


def _cores() -> int:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return count or 1


def _say(line: str) -> None:
    from tqdm import tqdm

    tqdm.write(line)  # beside a progress bar, not through it
    sys.stdout.flush()


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
    pages.stage(root, executed, build / "stage", banner, find_address(root), solutions)
    return build


def build_book(root: Path, profile: str, solutions: bool = True) -> Path:
    """Execute, stage, compile and check the whole book; return the folder of its pages."""
    build = stage_book(root, profile, solutions)
    start = time.monotonic()
    html = pages.compile_pages(build / "stage", build)
    outside = list(outside_fetches(html))
    if outside:
        raise BookError("\n  ".join(["the pages would load from elsewhere:", *outside]))
    _say(f"  {'pages':<24} {time.monotonic() - start:6.1f} s")
    _say(f"book: {_shown(html / 'index.html')}")
    return html


def print_book(root: Path, profile: str, solutions: bool = True) -> Path:
    """Execute, stage and compile the whole book as one page, print that, and return the PDF."""
    if browser.find_chromium() is None:
        raise BookError(browser.NO_CHROMIUM)  # before the chapters run, not after
    build = stage_book(root, profile, solutions)
    start = time.monotonic()
    html = pages.compile_pages(build / "stage", build, "singlehtml")
    target = build / "gt2lite.pdf"
    with browser.chromium() as opened:
        browser.print_page(opened, html / "index.html", target)
    _say(f"  {'pdf':<24} {time.monotonic() - start:6.1f} s")
    _say(f"book: {_shown(target)}")
    return target


def make_slides(root: Path, profile: str) -> None:
    """Build the book and make slides of its chapters, for a beamer."""
    html = build_book(root, profile)
    names = [chapter.name for chapter in chapters(root)]
    made = slides.write_slides(html, root / "_build" / "slides", names)
    _say(f"slides: {len(made)} files, such as {_shown(made[0])}; arrow keys walk through one")


def open_lab(root: Path, profile: str, words: Sequence[str] = ()) -> None:
    """Execute what has to be executed, copy it for the reader, and open JupyterLab there.

    Args:
        root: the sources.
        profile: of the runs that the copies show.
        words: more for the command line of JupyterLab.
    """
    lab.check()  # before the chapters run, not after
    build = root / "_build"
    _say(f"lab: profile {profile}")
    for run in execute(root, build, profile):
        _say(f"  {run.job.chapter.name} is copied as it was written: {run.error}")
    folder = build / "lab"
    for name in lab.copy_chapters(root, build / "executed" / profile, folder):
        _say(f"  {name:<24} is left as you changed it (delete it to have a fresh copy)")
    _say(lab.how_to(_shown(folder)))
    lab.start(folder, build, words)


def run_chapter(root: Path, name: str, given: Parameters) -> None:
    """Run one chapter with changed parameters and say where it is."""
    chapter = find_chapter(root, name)
    check_parameters(chapter, given, "--params")
    words = [f"{key}={value}" for key, value in given.items()]
    slug = re.sub(r"[^\w.=,-]+", "", "--".join([chapter.name, *words]), flags=re.ASCII)[:120]
    output = root / "_build" / "runs" / f"{slug}.ipynb"
    job = Job(chapter, given, output, output)
    (run,) = _run([job], root, root / "_build", shared_inputs(root))
    if run.error:
        raise BookError(f"{chapter.name}: {run.error}\n  see {_shown(output)}")
    _say(f"book: {_shown(output)}")


def yes_or_no(solutions: str) -> bool:
    """Return what SOLUTIONS says."""
    if solutions not in ("0", "1"):
        raise BookError(f"SOLUTIONS must be 1 (with solutions) or 0 (without), got {solutions!r}")
    return solutions == "1"


def _shown(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the command line; return 0 if all went well."""
    parser = argparse.ArgumentParser(prog="book.py", description="Build the book.")
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="execute what changed and compile the pages")
    pdf = commands.add_parser("pdf", help="the same as one PDF (needs Chromium)")
    lab_ = commands.add_parser("lab", help="open JupyterLab on executed copies")
    lab_.add_argument("words", nargs="*", help="for JupyterLab, after --: such as --no-browser")
    slides_ = commands.add_parser("slides", help="make slides of the chapters")
    for command in (build, pdf, lab_, slides_):
        profile = os.environ.get("PROFILE") or "full"
        command.add_argument("--profile", default=profile, help="full (default) or quick")
    for command in (build, pdf):
        wanted = os.environ.get("SOLUTIONS") or "1"
        command.add_argument("--solutions", default=wanted, help="0 leaves them out")
    chapter = commands.add_parser("chapter", help="run one chapter with changed parameters")
    name, params = os.environ.get("NAME", ""), os.environ.get("PARAMS", "")
    chapter.add_argument("name", nargs="?", default=name, help="such as 01_type2_sets")
    chapter.add_argument("--params", default=params, help='such as "seed=3 epochs=5"')
    options = parser.parse_args(arguments)
    work = {
        "build": lambda: build_book(root, options.profile, yes_or_no(options.solutions)),
        "pdf": lambda: print_book(root, options.profile, yes_or_no(options.solutions)),
        "slides": lambda: make_slides(root, options.profile),
        "lab": lambda: open_lab(root, options.profile, options.words),
        "chapter": lambda: run_chapter(root, options.name, parse_parameters(options.params)),
    }
    kept = "stopped; chapters that had finished are kept"
    return finish("book", work[options.command], kept, BookError)


if __name__ == "__main__":
    sys.exit(main())
