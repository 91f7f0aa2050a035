"""One page of HTML that holds all of itself: text, tables, pictures and style.

It makes no request, has no script, is readable on a telephone and in the dark. `page` puts
sections together; the other functions make what is in them. All text is escaped here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #f3f5f7; --line: #d0d7de;
  --accent: #0b5fa5; --warn: #fff4d6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --paper: #14181c; --soft: #1f252b;
  --line: #3a424b; --accent: #7cbcf0; --warn: #3b3115; } }
body { margin: 0 auto; padding: 1rem; max-width: 54rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
a { color: var(--accent); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; min-width: 50%; }
caption { text-align: left; font-weight: 600; padding: .4rem 0; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
th { background: var(--soft); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0; } figcaption { font-size: .92rem; }
img { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
pre { background: var(--soft); padding: .8rem; border-radius: 4px;
      overflow-x: auto; white-space: pre-wrap; }
.warn { background: var(--warn); padding: .2rem 1rem; border-radius: 4px; }
.main { background: var(--soft); padding: .2rem 1rem; border-radius: 4px; font-size: 1.08rem; }
"""


def page(title: str, sections: Sequence[tuple[str, Sequence[str]]], foot: str) -> str:
    """Return the whole page; sections are a heading and pieces of HTML."""
    links = "".join(
        f'<li><a href="#s{i}">{escape(heading)}</a></li>' for i, (heading, _) in enumerate(sections)
    )
    body = "".join(
        f'<section><h2 id="s{i}">{escape(heading)}</h2>{"".join(parts)}</section>'
        for i, (heading, parts) in enumerate(sections)
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><main><h1>{escape(title)}</h1><nav><ul>{links}</ul></nav>{body}</main>"
        f"<footer><p>{escape(foot)}</p></footer></body></html>\n"
    )


def text(*sentences: str) -> str:
    """Return a paragraph."""
    return f"<p>{escape(' '.join(sentences))}</p>"


def box(*sentences: str, kind: str = "main") -> str:
    """Return paragraphs that stand out: the "main" thing, or a "warn" ing."""
    return f'<div class="{kind}">{"".join(text(sentence) for sentence in sentences)}</div>'


def items(sentences: Iterable[str]) -> str:
    """Return a list."""
    return f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in sentences)}</ul>"


def code(lines: str) -> str:
    """Return lines that are to be typed or were printed, as they are."""
    return f'<pre tabindex="0">{escape(lines)}</pre>'


def figure(source: str, caption: str, alt: str) -> str:
    """Return a picture with its caption."""
    return (
        f'<figure><img src="{source}" alt="{escape(alt)}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table; columns of numbers stand at the right."""
    cells = [list(row) for row in rows]
    is_number = [all(_is_number(row[i]) for row in cells) for i in range(len(heads))]

    def line(tag: str, values: Sequence[Any]) -> str:
        marks = [' class="n"' if right else "" for right in is_number]
        scope = ' scope="col"' if tag == "th" else ""
        return "".join(
            f"<{tag}{scope}{mark}>{escape(shown(value))}</{tag}>"
            for mark, value in zip(marks, values, strict=True)
        )

    body = "".join(f"<tr>{line('td', row)}</tr>" for row in cells)
    return (
        f'<div class="scroll" tabindex="0"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{line('th', heads)}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return value.rstrip(" %").replace(",", "").replace(".", "").isdigit()
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def shown(value: Any) -> str:
    """Return a value as a reader wants it: numbers with four digits, a dash for nothing.

    >>> shown(1234567.0), shown(0.123456), shown(12)
    ('1,234,567', '0.1235', '12')
    """
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if not math.isfinite(number):
            return "\N{EN DASH}"
        return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return f"{int(value):,}" if abs(int(value)) >= 10_000 else str(value)
    return str(value)


def percentage(share: float) -> str:
    """Return a share in per cent.

    >>> percentage(0.9134)
    '91.3 %'
    """
    return f"{100 * share:.1f} %"
