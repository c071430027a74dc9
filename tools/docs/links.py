"""Check the links of the documents: files, anchors, links into the repository, and that the book has each page.

    python3 tools/docs/links.py

Also finds rows of tables with another number of cells than the head. Prints each fault, and exits with 1 if there is one.
Addresses elsewhere are not visited.
"""

import pathlib
import re
import subprocess
import sys

REPOSITORY = "https://github.com/whyloss/whyloss/"
BOOK = pathlib.Path("docs")


def prose(text: str) -> str:
    """Return the text without code, which may hold what looks like links."""
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    return text


def anchors(page: pathlib.Path) -> set[str]:
    """Return the anchors that headings make, as GitHub and mdBook write them."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} +(.+)$", prose(page.read_text()), flags=re.M):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        words = re.sub(r"[^\w\- ]", "", heading.strip().lower())
        name = plain = words.replace(" ", "-")
        count = 0
        while name in found:
            count += 1
            name = f"{plain}-{count}"
        found.add(name)
    return found


def broken(page: pathlib.Path) -> list[str]:
    """Return what is wrong with the links of a page."""
    wrong = []
    text = re.sub(r"`[^`\n]*`", "", prose(page.read_text()))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        if path.startswith(REPOSITORY):
            inside = re.sub(r"^(blob|tree)/main/", "", path.removeprefix(REPOSITORY))
            if inside != path.removeprefix(REPOSITORY) and not pathlib.Path(inside).exists():
                wrong.append(f"{link}: no such file in the repository")
            continue
        if re.match(r"[a-z]+:", path):
            continue
        target = page.parent / path if path else page
        if not target.exists():
            wrong.append(f"{link}: no such file")
        elif BOOK in page.parents and BOOK.resolve() not in target.resolve().parents:
            wrong.append(f"{link}: outside the book; use {REPOSITORY}blob/main/…")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            wrong.append(f"{link}: no such heading")
    return wrong


def uneven(page: pathlib.Path) -> list[str]:
    """Return the rows of tables that have another number of cells than their head."""
    wrong = []
    cells = 0
    for line in prose(page.read_text()).splitlines():
        count = len(re.findall(r"(?<!\\)\|", line)) - 1 if line.startswith("|") else 0
        if count and cells and count != cells:
            wrong.append(f"{count} cells instead of {cells}: {line[:60]}…")
        cells = (cells or count) if count else 0
    return wrong


def main() -> int:
    """Check all pages that the repository tracks."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True, check=True
    )
    pages = [pathlib.Path(line) for line in listed.stdout.splitlines()]
    wrong = [f"{page}: {fault}" for page in pages if page.exists() for fault in broken(page) + uneven(page)]
    summary = (BOOK / "SUMMARY.md").read_text()
    chapters = {BOOK / path for path in re.findall(r"\]\(([^)]+)\)", summary)}
    for page in sorted(BOOK.rglob("*.md")):
        if page.name != "SUMMARY.md" and page not in chapters:
            wrong.append(f"{page}: not in {BOOK}/SUMMARY.md")
    print("\n".join(wrong) if wrong else f"{len(pages)} pages, no broken link, no uneven table")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
