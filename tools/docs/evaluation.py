"""Copy the pages and pictures of an evaluation into the documents.

    whyloss evaluate whyloss --recordings orbit-802.11.csv --out DIR    # a build with `--features quic`
    python3 tools/docs/evaluation.py DIR

Keeps the conclusions, which are written by hand, and places them before the first table.
"""

import pathlib
import re
import shutil
import sys

EVIDENCE = pathlib.Path("docs/evidence")
PICTURES = pathlib.Path("docs/pictures")
CONCLUSIONS = re.compile(r"^## Conclusions\n.*?(?=^## )", re.DOTALL | re.MULTILINE)


def main(run: pathlib.Path) -> None:
    """Copy the run's files."""
    page = EVIDENCE / "evaluation.md"
    kept = CONCLUSIONS.search(page.read_text())
    if kept is None:
        sys.exit(f"{page} has no section `Conclusions` before another one")
    start, tables = (run / "evaluation.md").read_text().split("\n## ", 1)
    text = f"{start}\n{kept[0]}## {tables}"
    page.write_text(re.sub(r"\]\((frontier-\w+\.svg)\)", r"](../pictures/\1)", text).rstrip() + "\n")
    shutil.copyfile(run / "criteria.md", EVIDENCE / "criteria.md")
    for picture in run.glob("frontier-*.svg"):
        shutil.copyfile(picture, PICTURES / picture.name)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
