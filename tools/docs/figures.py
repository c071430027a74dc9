"""Check that a figure which stands on several pages has one value.

    python3 tools/docs/figures.py

figures.toml names the home of each figure and its copies, each by a pattern with groups. The groups of a copy must be those of
the home. A pattern that matches nowhere, or twice, fails too: a sentence that changed must not leave the check behind.
"""

import pathlib
import re
import sys

import tomllib

FIGURES = pathlib.Path(__file__).with_name("figures.toml")


def value(place: dict[str, str]) -> tuple[str, ...]:
    """Return the groups of a pattern in its file, where it matches once."""
    text = pathlib.Path(place["file"]).read_text()
    # A space also stands for a line's end and the mark of a comment.
    pattern = place["pattern"].replace(" ", r"\s+(?://[/!]\s+)?")
    found = [tuple(match.groups()) for match in re.finditer(pattern, text)]
    if len(found) != 1:
        raise LookupError(f"{place['file']}: {len(found)} places match `{place['pattern']}`; one should")
    return found[0]


def main() -> int:
    """Compare each copy with its home."""
    figures = tomllib.loads(FIGURES.read_text())["figure"]
    wrong = []
    copies = 0
    for figure in figures:
        try:
            home = value(figure["home"])
            for copy in figure["copies"]:
                copies += 1
                if (here := value(copy)) != home:
                    wrong.append(f"{copy['file']}: {figure['name']} is {here}, but {home} in {figure['home']['file']}")
        except LookupError as error:
            wrong.append(f"{figure['name']}: {error}")
    print("\n".join(wrong) if wrong else f"{len(figures)} figures, {copies} copies agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
