"""Draw the modules of gt2lite and their imports: python tools/modules.py writes assets/modules.svg.

Modules stand on a diagonal, each above those that it imports: first the upper layer, `practice`,
then the method. The line to the right of a name has a dot above every module that it imports.
Left out are helper modules, whose names begin with an underscore, and files of the method that only
hand on names of `practice`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STEP, LEFT, TOP = 18, 118, 8  # pixels: between modules, right end of the first name, margin
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1b1f24 } path { stroke: #afb8c1; fill: none }
.title { font-weight: 600; font-size: 15px } .note { font-size: 12px; fill: #57606a }
circle { fill: #0a6ebd } .upper { fill: #eef4fb } .ground { fill: #fdf4e3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } path { stroke: #59636e } .note { fill: #9da7b1 }
  circle { fill: #6cb6ff } .upper { fill: #1a2634 } .ground { fill: #2d2718 }
}"""


def room(parts: tuple[str, ...] | list[str]) -> str:
    """Return the module, or the package inside `practice` or at the top, of a dotted name."""
    return ".".join(parts[:2]) if parts[0] == "practice" else parts[0]


def imports(text: str) -> Iterator[str]:
    """Yield the modules of gt2lite that a source imports, also inside functions; not for types."""
    tree = ast.parse(text)
    for_types = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names if id(node) not in for_types else ():
            head, _, rest = name.partition(".")
            if head in ("gt2lite", "study") and rest:
                yield "study" if head == "study" else room(rest.split("."))


def graph(root: Path) -> dict[str, set[str]]:
    """Return what each module that is drawn imports."""
    found: dict[str, set[str]] = {}
    for path in sorted((root / "gt2lite").rglob("*.py")):
        parts = path.relative_to(root / "gt2lite").with_suffix("").parts
        wanted = set(imports(path.read_text(encoding="utf-8")))
        hands_on = parts[0] != "practice" and any(name.startswith("practice.") for name in wanted)
        helper = parts[-1].startswith("_") and len(parts) == 1 + (parts[0] == "practice")
        if not (hands_on or helper):
            found.setdefault(room(parts), set()).update(wanted)
    return {name: found.keys() & wanted - {name} for name, wanted in found.items()}


def ordered(found: dict[str, set[str]], root: Path) -> list[str]:
    """Return the modules from the ground up, each after those that it imports.

    The docstring of the package names the modules of the method in the order of reading.
    """
    source = (root / "gt2lite" / "__init__.py").read_text(encoding="utf-8")
    read = re.findall(r"`(\w+)`", ast.get_docstring(ast.parse(source)) or "")
    rest = sorted(found, key=lambda name: (name.startswith("practice."), name))
    placed: dict[str, None] = {}

    def place(name: str, *inside: str) -> None:
        for below in sorted(found[name] - {*placed, *inside}):
            place(below, name, *inside)
        placed[name] = None

    for name in [*(name for name in read if name in found), *rest]:
        place(name)
    return sorted(placed, key=lambda name: name.startswith("practice."))


def draw(root: Path) -> str:
    """Return the picture as the text of an SVG file."""
    found = graph(root)
    names = ordered(found, root)[::-1]
    at = {name: TOP + STEP * (i + 0.5) for i, name in enumerate(names)}  # down, and right of LEFT
    width, height = LEFT + STEP * len(names) + 3 * TOP, STEP * len(names) + 2 * TOP
    floor = TOP + STEP * sum(name.startswith("practice.") for name in names)
    box = f'<rect x="4" width="{width - 8}" rx="6"'
    title = "Modules of gt2lite: each imports only modules below it"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{title}</title>\n<style>{STYLE}\n</style>",
        f'{box} class="upper" y="2" height="{floor - 4}"/>',
        f'{box} class="ground" y="{floor + 2}" height="{height - floor - 4}"/>',
        f'<text class="title" x="16" y="{floor - 14}">practice/: for your own data</text>',
        f'<text class="title" x="16" y="{height - 60}">gt2lite/: the method</text>',
        f'<text class="note" x="16" y="{height - 38}">right of a name: its imports</text>',
        f'<text class="note" x="16" y="{height - 20}">above a name: its importers</text>',
    ]
    dots = []
    for name, y in at.items():
        x, right = LEFT + y, [LEFT + at[other] for other in sorted(found[name], key=at.get)]
        above = min((at[other] for other in names if name in found[other]), default=y)
        label = name.removeprefix("practice.")
        lines.append(f'<path d="M{x - 5} {y}H{max(right, default=x)}M{x} {y}V{above}"/>')
        lines.append(f'<text x="{x - 8}" y="{y + 4.5}" text-anchor="end">{label}</text>')
        dots += [f'<circle cx="{dot}" cy="{y}" r="3.5"/>' for dot in right]
    return "\n".join([*lines, *dots, "</svg>", ""])


if __name__ == "__main__":
    (ROOT / "assets" / "modules.svg").write_text(draw(ROOT), encoding="utf-8", newline="\n")
