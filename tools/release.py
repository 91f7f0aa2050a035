"""Build a release: the book to read offline, PDF, wheel, sdist, classroom bundles, checksums.

python tools/release.py

Everything goes into dist/, which is made anew. A release shows stored results, so a sample of them
is computed again first, and it is refused if one moved beyond its tolerance. Without Chromium there
is no PDF, and a line says so.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import book
import yaml
from builder import browser
from builder.packing import pack
from builder.source import BookError
from classroom import make_class
from wheel import try_out

SUMS = "SHA256SUMS"


def describe(citation: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the metadata in `CITATION.cff` as other services read them, by file.

    `codemeta.json` is for catalogues of software, `.zenodo.json` for the archive of releases.
    """
    paper = citation["references"][0]
    writers = [f"{author['family-names']}, {author['given-names']}" for author in paper["authors"]]
    words = {"name": citation["title"], "description": citation["abstract"]}
    codemeta = {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        **words,
        "version": citation["version"],
        "datePublished": str(citation["date-released"]),
        "license": f"https://spdx.org/licenses/{citation['license']}",
        "programmingLanguage": "Python",
        "author": [{"@type": "Organization", **author} for author in citation["authors"]],
        "keywords": citation["keywords"],
        "referencePublication": {
            "@type": "ScholarlyArticle",
            "name": paper["title"],
            "author": [{"@type": "Person", "name": name} for name in writers],
            "datePublished": str(paper["year"]),
            "isPartOf": paper["conference"]["name"],
        },
    }
    source = f"{paper['title']}. {paper['conference']['name']}, {paper['year']}."
    zenodo = {
        "upload_type": "software",
        "title": words["name"],
        "description": words["description"],
        "version": codemeta["version"],
        "publication_date": codemeta["datePublished"],
        "license": citation["license"],
        "creators": citation["authors"],
        "keywords": citation["keywords"],
        "references": [f"{' and '.join(writers)}: {source}"],
    }
    return {"codemeta.json": codemeta, ".zenodo.json": zenodo}


def write_metadata(root: Path) -> None:
    """Write the files of `describe`; archives read them at the tag, so they are committed."""
    citation = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    for name, content in describe(citation).items():
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        (root / name).write_text(text, encoding="utf-8")


def release(root: Path, solutions: bool) -> None:
    """Build everything into dist/ and list it."""
    from gt2lite import __version__

    if subprocess.run([sys.executable, "-m", "study", "check"], cwd=root, check=False).returncode:
        raise BookError("no release: stored results were not reproduced, see the lines above")
    write_metadata(root)
    dist, name = root / "dist", f"gt2lite-{__version__}"
    try_out(root, dist)  # which empties the folder
    pages = book.build_book(root, "full", solutions)
    pack(pages, dist / f"{name}-book{'' if solutions else '-without-solutions'}.zip")
    if browser.find_chromium() is None:
        print("release: no PDF, which needs Chromium")
    else:
        book.print_slides(root, pages)  # for the bundle of lecturers
        shutil.copy(book.print_book(root, "full", solutions), dist / f"{name}.pdf")
    make_class(root)
    made = sorted(dist.iterdir())
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in made]
    (dist / SUMS).write_text("".join(sums), encoding="utf-8")  # as `sha256sum --check` reads them
    for path in [*made, dist / SUMS]:
        print(f"release: {path.relative_to(root)}, {path.stat().st_size / 1e6:.2f} MB")


def main(root: Path = book.ROOT) -> int:
    """Make the release; return 0 if all went well."""
    solutions = os.environ.get("SOLUTIONS") != "0"
    return book.finish("release", lambda: release(root, solutions), "stopped; there is no release")


if __name__ == "__main__":
    sys.exit(main())
