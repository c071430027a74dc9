"""Check that a figure on several pages has the same value everywhere.

    python3 tools/docs/figures.py

figures.toml names the home of each figure and its copies, each by a pattern with groups. The groups of a copy must be those of
the home. A pattern that matches nowhere, or twice, also fails, so that a changed sentence does not escape the check.

Also holds reproduction.md to scores.txt: the scores in an experiment's row, and the ids of failing claims in the list below it.
"""

import pathlib
import re
import sys

import tomllib

FIGURES = pathlib.Path(__file__).with_name("figures.toml")
SCORES = pathlib.Path("docs/evidence/data/scores.txt")
REPRODUCTION = pathlib.Path("docs/evidence/reproduction.md")

# The number in tolerance, of how many; the number of claims that hold, of how many.
Score = tuple[int, int, int, int]


def value(place: dict[str, str]) -> tuple[str, ...]:
    """Return the groups of a pattern in its file, where it matches once."""
    text = pathlib.Path(place["file"]).read_text()
    # A space also matches the end of a line and the mark of a comment.
    pattern = place["pattern"].replace(" ", r"\s+(?://[/!]\s+)?")
    found = [tuple(match.groups()) for match in re.finditer(pattern, text)]
    if len(found) != 1:
        raise LookupError(f"{place['file']}: {len(found)} places match `{place['pattern']}`; one should")
    return found[0]


def cells(line: str) -> list[str]:
    """Return the cells of a table's row."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def share(cell: str) -> tuple[int, int]:
    """Return both numbers of `19 / 22` or `19/22`, or zeros for a dash."""
    met = re.fullmatch(r"(\d+) ?/ ?(\d+)", cell)
    return (int(met[1]), int(met[2])) if met else (0, 0)


def scored() -> tuple[dict[str, Score], dict[str, set[str]]]:
    """Return the score of each experiment, and the ids of its claims that do not hold."""
    scores: dict[str, Score] = {}
    failing: dict[str, set[str]] = {}
    for row in map(cells, SCORES.read_text().splitlines()):
        if len(row) == 6 and re.fullmatch(r"[a-z]{3}-[a-z0-9-]+", row[0]):
            scores[row[0]] = share(row[2]) + share(row[4])
        # In MAR-39a3, the 3 is the number of a test, not of a claim.
        elif len(row) == 4 and (claim := re.match(r"([A-Z]{3}-A?\d+(?:[a-z](?!\d))?)\w*\b.*:", row[1])):
            failing.setdefault(row[0], set()).add(claim[1])
    return scores, failing


def experiments() -> list[str]:
    """Return where the rows and the lists of experiments depart from the printed scores."""
    scores, failing = scored()
    wrong = []
    seen: list[str] = []
    text = REPRODUCTION.read_text()
    # A bullet names experiments, then says how they differ from the paper.
    names = r"`[a-z]{3}-[a-z0-9-]+`(?:(?:, | to )`[a-z]{3}-[a-z0-9-]+`)*"
    differences = dict(re.findall(rf"^- ({names})[:,](.*(?:\n  .*)*)", text, flags=re.M))
    for row in map(cells, text.splitlines()):
        if len(row) != 3 or not (named := re.match(names, row[0])):
            continue
        ids: list[str] = []
        for first, last in re.findall(r"`([a-z]{3}-[a-z0-9-]+)`(?: to `([a-z0-9-]+)`)?", row[0]):
            order = list(scores)
            ids += order[order.index(first) : order.index(last or first) + 1]
        seen += ids
        total = tuple(map(sum, zip(*(scores[id] for id in ids), strict=True)))
        if (here := share(row[1]) + share(row[2])) != total:
            wrong.append(f"{REPRODUCTION}: {row[0]} has {here}, but {total} in {SCORES}")
        told = re.findall(r"[A-Z]{3}-A?\d+[a-z]?", differences.pop(named[0], ""))
        missing = set().union(*(failing.get(id, set()) for id in ids)) - set(told)
        if missing:
            wrong.append(f"{REPRODUCTION}: {row[0]} does not name {', '.join(sorted(missing))}, which fails")
    wrong += [f"{REPRODUCTION}: {ids} has differences, but no row" for ids in differences]
    for id in scores:
        if any(scores[id]) and seen.count(id) != 1:
            wrong.append(f"{REPRODUCTION}: {id} has {seen.count(id)} rows; one should")
    return wrong


def main() -> int:
    """Compare each copy with its home."""
    figures = tomllib.loads(FIGURES.read_text())["figure"]
    wrong = experiments()
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
