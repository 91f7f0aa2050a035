"""One symbol for one meaning: the page on notation and the chapters say the same.

The page lists every symbol, bare (``d``), with an index (``T_q``) or both. It names what each size
counts and which index runs up to it, and the chapter to which a symbol of a single chapter belongs.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass

import pytest
from tinybook import ROOT

source = importlib.import_module("builder.source")

PAGE = (ROOT / "chapters" / "notation.md").read_text(encoding="utf-8")
CHAPTERS = source.chapters(ROOT)
SECTIONS = ("Sets", "Inference", "Learning", "Calibration and what follows from it")
LOCAL = "Symbols of single chapters"

# Commands of LaTeX that are no symbols: signs, functions, brackets, spaces.
SIGNS = re.compile(
    r"\\(?:"
    r"approx|arg|ast|big|Big|bigcap|bigcup|bigg|bigl|bigm|bigr|Bigl|Bigm|Bigr|biggl|biggr|binom|cdot|"
    r"cdots|cosh|cup|cap|dfrac|dots|emptyset|equiv|exp|forall|frac|ge|geq|gg|iff|implies|"
    r"in|inf|infty|int|lceil|ldots|le|left|leftarrow|leq|lfloor|lim|limits|ll|ln|log|"
    r"lvert|mapsto|max|mid|min|mp|ne|neq|not|notin|overset|partial|pm|prime|prod|propto|"
    r"qquad|quad|rceil|rfloor|right|rightarrow|Rightarrow|rvert|setminus|sim|sqrt|star|"
    r"subset|subseteq|sum|sup|tanh|tfrac|times|to|underbrace|underset"
    r")"
)
NO_SYMBOLS = [
    r"\\(?:text|textbf|textit|texttt|mathrm|mathsf|mathbf|operatorname\*?|begin|end|label|tag)\s*\{[^{}]*\}",
    r"\\mathbb\s*\{?1\}?",  # an indicator
    r"\^\{?[lr](?![A-Za-z])\}?",  # left and right
    r"\\(?:underline|overline)(?![A-Za-z])",  # ends
]
DRESS = r"\\(?:boldsymbol|mathcal|mathbb|hat|bar|tilde)(?![A-Za-z])"
ATOM = re.compile(rf"(?:(?P<dress>{DRESS})\s*)?(?P<letter>\\[A-Za-z]+|[A-Za-z])")
INDEXED = re.compile(r"(?:\s*(?:'|\^\s*(?:\{[^{}]*\}|\\[A-Za-z]+|\S)))*\s*_")
NOUNS = "samples|rows|inputs|rules|planes|seeds|levels|systems|targets|groups|runs|tables|folds"
COUNTED = re.compile(rf"\$(\w)\$\s+(?:(training|calibration|test|[a-z]+)\s+)??({NOUNS})\b")
PLAIN = re.compile(r"\$\w\$-(?:test|value|mean|fold|nearest)\w*")
RANK = re.compile(r"(?<![\w\\])([a-z])\s*=\s*\\lceil|\\?T_\{\(([a-z])\)\}|\$([a-z])\$-th")


def formulas(text):
    """Return the formulas of Markdown text, code and roles left out."""
    text = re.sub(r"^(`{3,})\{?(?:code|python).*?^\1", " ", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\{math\}`([^`]*)`", r"$\1$", text)
    text = re.sub(r"\{[\w:]+\}`[^`]*`", "0", text)
    text = re.sub(r"(?<!`)`[^`\n]+`(?!`)", " ", text)
    pieces = re.split(r"(?<!\\)\$\$?", text)
    assert len(pieces) % 2, f"a formula is not closed in {text[:80]!r}"
    return [piece.strip() for piece in pieces[1::2]]


def symbols(formula):
    """Return pairs of a symbol and whether it has an index, in the order of a formula."""
    for pattern in NO_SYMBOLS:
        formula = re.sub(pattern, " ", formula)
    formula = re.sub(rf"({DRESS})\s*\{{([^{{}}]*)\}}", r"\1 \2", formula)
    found = []
    for atom in ATOM.finditer(formula):
        name = " ".join(part for part in (atom["dress"], atom["letter"]) if part)
        if not SIGNS.fullmatch(atom["letter"]):
            found.append((name, bool(INDEXED.match(formula, atom.end()))))
    return found


def first_symbol(formula):
    """Return the symbol that a cell of the page is about."""
    return symbols(formula)[0][0]


def rows(page, section):
    """Return the cells of the table below a heading."""
    text = re.search(rf"^### {section}\n(.*?)(?=^##|\Z)", page, re.DOTALL | re.MULTILINE)[1]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@dataclass
class Notation:
    """What the page lists."""

    forms: set[tuple[str, bool]]  # symbols, bare and with an index
    counts: dict[str, str]  # what a size counts
    indices: dict[str, str]  # which index runs up to it
    homes: dict[str, set[str]]  # chapters of the symbols that belong to some


def read(page):
    """Return what the page lists."""
    notation = Notation(set(), {}, {}, {})
    for size, index, _, counts in rows(page, "Sizes"):
        letter = first_symbol(size.strip("$"))
        notation.counts[letter] = re.split(r"[,;(]", counts)[0].strip()
        notation.indices[letter] = index.strip("$")
        notation.forms |= {(letter, False), (index.strip("$"), False)}
    for section in (*SECTIONS, LOCAL):
        for cells in rows(page, section):
            for formula in formulas(cells[0]):
                notation.forms.add(symbols(formula)[0])
                if section == LOCAL:
                    homes = set(re.findall(r"\{doc\}`(\w+)`", cells[-1]))
                    notation.homes[first_symbol(formula)] = homes
    return notation


def complaints(name, text, notation):
    """Return where a chapter departs from the page."""
    found = []
    for formula in formulas(text):
        for symbol, indexed in symbols(formula):
            form = f"{symbol} {'with' if indexed else 'without'} an index"
            if name not in notation.homes.get(symbol, {name}):
                homes = ", ".join(sorted(notation.homes[symbol]))
                found.append(f"{symbol} belongs to {homes}: {formula}")
            elif (symbol, indexed) not in notation.forms:
                found.append(f"{form} is not on the page: {formula}")
        for index, size in re.findall(r"\\(?:sum|prod)_\{(\w)\s*=\s*[01]\}\^\{?(\w)", formula):
            if notation.indices.get(size) != index:
                found.append(f"{index} does not run up to {size}: {formula}")
    for letter, part, noun in COUNTED.findall(text):
        counts = notation.counts.get(letter, "nothing")
        of_part = counts.startswith(part) or part not in ("training", "calibration", "test")
        if re.sub("rows|targets", "samples", noun) not in counts or not of_part:
            found.append(f"{letter} counts {counts}, not {f'{part} {noun}'.strip()}")
    ranks = {letter for each in RANK.findall(text) for letter in each} - {"", "r", "i"}
    found += [f"{letter} is no rank, r is" for letter in sorted(ranks)]
    return found + [f"{each} is written in plain letters" for each in PLAIN.findall(text)]


NOTATION = read(PAGE)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_a_chapter_uses_symbols_as_the_page_lists_them(chapter):
    parts = [part for part in chapter.notebook["cells"] if part["cell_type"] == "markdown"]
    text = "\n\n".join(source.text_of(part) for part in parts)
    assert "\n".join(complaints(chapter.name, text, NOTATION)) == ""


def test_formulas_of_the_page_use_its_symbols():
    text = PAGE[PAGE.index("## Formulas") :]
    everywhere = Notation(NOTATION.forms, NOTATION.counts, NOTATION.indices, {})
    assert complaints("notation", text, everywhere) == []


def test_the_page_lists_no_symbol_twice():
    listed = [cell.strip("$") for row in rows(PAGE, "Sizes") for cell in row[:2] if cell]
    listed = [first_symbol(cell) for cell in listed]
    for section in (*SECTIONS, LOCAL):
        for cell, *_ in rows(PAGE, section):
            listed += {first_symbol(formula) for formula in formulas(cell)}
    twice = {symbol for symbol in listed if listed.count(symbol) > 1}
    assert twice == {r"\alpha", r"\mu", r"\kappa", "y"}  # index, star and line tell them apart


def test_symbols_of_single_chapters_name_chapters_that_exist():
    names = {path.stem for path in (ROOT / "chapters").glob("*.ipynb")}
    assert NOTATION.homes
    assert all(homes and homes <= names for homes in NOTATION.homes.values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"$$\mathcal L = \ell_\tau(e)$$", []),
        (r"The loss $\rho(e)$.", [r"\rho without an index is not on the page: \rho(e)"]),
        (r"Both $\boldsymbol{x}$ and $x_m$, or $\boldsymbol\theta$.", []),
        (
            r"$\boldsymbol{y}$",
            [r"\boldsymbol y without an index is not on the page: \boldsymbol{y}"],
        ),
        (r"$T_q \le T_{(r)}$, $d$", []),
        (r"$\ell(e)$", [r"\ell without an index is not on the page: \ell(e)"]),
        (r"$2\,d_n$", [r"d with an index is not on the page: 2\,d_n"]),
        (r"$$\frac1H \sum_{h=1}^{H} y_h$$", []),
        (r"$$\sum_{h=1}^{N} y_h$$", [r"h does not run up to N: \sum_{h=1}^{N} y_h"]),
        ("There are $H$ test samples, $Q$ rows and $M$ inputs.", []),
        ("Over $m$ test samples.", ["m counts nothing, not test samples"]),
        ("There are $Q$ test samples.", ["Q counts calibration samples, not test samples"]),
        ("There are $I$ levels.", ["I counts seeds, not levels"]),
        (r"A factor $\gamma$.", [r"\gamma belongs to 04_blueprint: \gamma"]),
        (r"The $r$-th smallest, $T_{(r)}$, with $r = \lceil Q \varphi \rceil$.", []),
        (r"With $k = \lceil Q \varphi \rceil$ it is $T_{(k)}$.", ["k is no rank, r is"]),
        ("A t-test and a p-value.", []),
        ("A $t$-test.", ["$t$-test is written in plain letters"]),
        (r"`$L$`, {eq}`eq-$L$`, \$L, $\texttt{raw\_L}$, $\text{or } y$, $s^l_m$", []),
    ],
)
def test_a_planted_fault_is_found_and_nothing_else(text, expected):
    assert complaints("09_narrower", text, NOTATION) == expected
