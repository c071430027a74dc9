"""Check the English of documents, comments and messages against the rules that a script can see.

    python3 tools/docs/english.py            count, and exit with 1 if a count is above its limit in english.json
    python3 tools/docs/english.py --list     also print each place
    python3 tools/docs/english.py --lower    write the counts as the new limits, if none is higher

A limit is the count when the rule came; a change may lower it, never raise it. The last two rules count the words of the
README and the book without its notebook: as `wc -w` does, and as a reader does, who skips code, numbers and the bars of tables.
"""

import json
import pathlib
import re
import subprocess
import sys

LIMITS = pathlib.Path(__file__).with_name("english.json")
OPENINGS = r"(?:What|Whoever|Whatever|Nobody|The same of|That|Likewise)\b"
MOST_WORDS = 25
MOST_COLUMNS = 100

Place = tuple[str, int, str]


def tracked(*patterns: str) -> list[pathlib.Path]:
    """Return the tracked files of the repository, without the notebook and files by others."""
    listed = subprocess.run(["git", "ls-files", *patterns], capture_output=True, text=True, check=True)
    paths = [pathlib.Path(line) for line in listed.stdout.splitlines()]
    return [path for path in paths if "notebook" not in path.parts and path.is_file() and path.name != "CHANGELOG.md"]


def blocks(path: pathlib.Path) -> list[tuple[int, str, bool]]:
    """Return paragraphs of prose: the line of each, its text, and whether it is a cell of a table."""
    lines = path.read_text().splitlines()
    found: list[tuple[int, str, bool]] = []
    paragraph: list[str] = []
    start = 0
    code = False

    def close() -> None:
        if paragraph:
            found.append((start, " ".join(paragraph), False))
            paragraph.clear()

    for number, line in enumerate(lines, 1):
        text = line.strip()
        if path.suffix == ".rs":
            comment = re.match(r"(?://[/!]?|\*) ?(.*)", text)
            if not comment:
                close()
                continue
            text = comment[1]
        elif path.suffix == ".py":
            if not text.startswith("#"):
                close()
                continue
            text = text.lstrip("# ")
        if text.startswith("```"):
            code = not code
            close()
            continue
        if code:
            continue
        if text.startswith("|"):
            close()
            cells = re.split(r"(?<!\\)\|", text)[1:-1]
            found.extend((number, cell.strip(), True) for cell in cells if re.search(r"[A-Za-z]{3}", cell))
            continue
        bullet = re.match(r"(?:[-*] |\d+\. |#+ )(.*)", text)
        if not text or bullet:
            close()
        if bullet:
            text = bullet[1]
        if text:
            if not paragraph:
                start = number
            paragraph.append(text)
            if line.lstrip().startswith("#") and path.suffix == ".md":
                close()
    close()
    return found


def sentences(text: str) -> list[str]:
    """Split prose into sentences; code counts as one word."""
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "X", text)
    text = re.sub(r"\*\*|__", "", text)
    text = re.sub(r"\b(?:e\.g|i\.e|et al|vs|Fig|Sec|cf|approx|No|pp?)\. ", lambda m: m[0].replace(". ", "_ "), text)
    return [part.strip() for part in re.split(r"(?<=[.!?:;])\s+(?=[A-Z*(\"])", text) if part.strip()]


def lengths(documents: list[pathlib.Path]) -> dict[str, int]:
    """Return how many words the pages for users have, with everything and as a reader counts."""
    everything = read = 0
    for path in documents:
        if path.parts[0] != "docs" and str(path) != "README.md":
            continue
        text = path.read_text()
        everything += len(text.split())
        prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
        read += sum(1 for word in prose.split() if re.search(r"[A-Za-z]", word))
    return {"words of the book, all": everything, "words of the book, read": read}


def main() -> int:
    """Count each rule's breaches and compare them with the limits."""
    found: dict[str, list[Place]] = {"openings in documents": [], "words in documents": [], "long sentences in documents": []}
    found |= {"openings in comments": [], "words in sources": [], "long comment lines": []}
    documents = tracked("*.md")
    for path in documents:
        for line, block, cell in blocks(path):
            for sentence in sentences(block):
                if re.match(OPENINGS, sentence) and not (cell or sentence.endswith("?")):
                    found["openings in documents"].append((str(path), line, sentence))
                if len(sentence.split()) > MOST_WORDS and not cell:
                    found["long sentences in documents"].append((str(path), line, sentence))
        for line, text in enumerate(path.read_text().splitlines(), 1):
            if re.search(r"\b(?:whoever|nobody|likewise)\b", text, flags=re.I):
                found["words in documents"].append((str(path), line, text))
    for path in tracked("*.rs", "*.py", "*.toml", "*.sh", ".ci/*"):
        if path.name == "english.py":
            continue
        if path.suffix in (".rs", ".py"):
            for line, block, _ in blocks(path):
                found["openings in comments"].extend((str(path), line, s) for s in sentences(block) if re.match(OPENINGS, s))
        for line, text in enumerate(path.read_text().splitlines(), 1):
            if re.search(r"\b(?:whoever|nobody)\b", text, flags=re.I):
                found["words in sources"].append((str(path), line, text.strip()))
            # Attributes of Rust begin like a comment in shell.
            if re.match(r"\s*(?://|#(?!!?\[))", text) and len(text) > MOST_COLUMNS and "http" not in text:
                found["long comment lines"].append((str(path), line, text.strip()))
    limits = json.loads(LIMITS.read_text()) if LIMITS.exists() else {}
    counts = {rule: len(places) for rule, places in found.items()} | lengths(documents)
    above = False
    for rule, count in counts.items():
        limit = limits.get(rule, 0)
        over = count > limit
        above |= over
        print(f"{rule}: {count}, at most {limit}" + (" — ABOVE" if over else ""))
        if "--list" in sys.argv:
            for file, line, text in found.get(rule, []):
                print(f"  {file}:{line}: {text[:160]}")
    if "--lower" in sys.argv and (not above or not limits):
        LIMITS.write_text(json.dumps(counts, indent=2) + "\n")
        return 0
    if above:
        print("python3 tools/docs/english.py --list shows each place; mend yours")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
