"""Write the list of the command's components (CycloneDX 1.5, JSON) to standard output.

python3 tools/release/sbom.py TARGET
"""

import json
import subprocess
import sys


def main() -> None:
    """Walk the dependencies that the command links on one target."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", sys.argv[1]]
    metadata = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = next(key for key, package in packages.items() if package["name"] == "whyloss-cli")
    seen = set()
    waiting = [root]
    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        for dependency in nodes[here]["deps"]:
            # Tests' dependencies are not in the binary.
            if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])

    def component(key: str) -> dict[str, object]:
        package = packages[key]
        entry: dict[str, object] = {"type": "library", "name": package["name"], "version": package["version"]}
        entry["bom-ref"] = entry["purl"] = f"pkg:cargo/{package['name']}@{package['version']}"
        if package["license"]:
            entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        return entry

    parts = [component(key) for key in sorted(seen - {root}, key=lambda key: (packages[key]["name"], packages[key]["version"]))]
    subject = component(root) | {"type": "application"}
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": subject},
        "components": parts,
    }
    json.dump(document, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
