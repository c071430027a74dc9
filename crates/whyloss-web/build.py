#!/usr/bin/env python3
"""Build the page of Whyloss in the browser: one file that opens from disk and needs no server.

    python3 crates/whyloss-web/build.py
    python3 crates/whyloss-web/build.py --package

Needs the Rust target wasm32-wasip1 (`rustup target add wasm32-wasip1`).
Writes `target/web/whyloss.html`, or what the package of npm has besides its TypeScript.
"""

import base64
import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

# The standard library of this target needs only the functions of `worker.js`. On
# `wasm32-unknown-unknown`, plotters would need generated glue and measure texts with the fonts of
# the browser, so its pictures would differ from those of the command.
TARGET = "wasm32-wasip1"
# The maximum size of the compressed WebAssembly in bytes.
MOST = 2_000_000
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def build() -> bytes:
    """Compile the crate and return the WebAssembly."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    # Native builds keep their profile. These settings only make the page smaller.
    smaller = {"CARGO_PROFILE_RELEASE_STRIP": "true", "CARGO_PROFILE_RELEASE_PANIC": "abort"}
    command = ["cargo", "build", "--release", "--lib", "--package", "whyloss-web", "--target", TARGET]
    subprocess.run(command, cwd=ROOT, check=True, env=os.environ | smaller)
    return (target / TARGET / "release" / "whyloss_web.wasm").read_bytes()


def module(path: Path) -> str:
    """Return a module as an address without a file, because pages from disk must not import files."""
    return "data:text/javascript;base64," + base64.b64encode(path.read_bytes()).decode()


def package() -> None:
    """Copy the program and its calls into the package."""
    version = json.loads((HERE / "npm" / "package.json").read_text())["version"]
    if f'version = "{version}"\n' not in (ROOT / "Cargo.toml").read_text():
        sys.exit(f"npm/package.json has version {version}, which Cargo.toml has not")
    out = HERE / "npm" / "dist"
    out.mkdir(parents=True, exist_ok=True)
    (out / "whyloss.wasm").write_bytes(build())
    shutil.copy(HERE / "page" / "calls.js", out)
    for licence in ROOT.glob("LICENSE-*"):
        shutil.copy(licence, out)


def main() -> None:
    """Build the page from its parts."""
    if sys.argv[1:] == ["--package"]:
        return package()
    if sys.argv[1:]:
        sys.exit(f"{sys.argv[1]} is unknown; there is --package")
    page = HERE / "page"
    wasm = gzip.compress(build(), 9, mtime=0)
    if len(wasm) > MOST:
        sys.exit(f"the WebAssembly has {len(wasm):,} bytes compressed, more than {MOST:,}")
    shared = ROOT / "crates" / "whyloss-study" / "src" / "report" / "page.css"
    worker = ("calls", "worker")
    modules = {f"whyloss/{path.stem}": module(path) for path in sorted(page.glob("*.js")) if path.stem not in worker}
    parts = {
        "style": shared.read_text() + (page / "page.css").read_text(),
        "wasm": base64.b64encode(wasm).decode(),
        # A worker from disk is a script, which imports nothing and exports nothing.
        "worker": "".join((page / f"{part}.js").read_text() for part in worker).replace("export ", ""),
        "modules": json.dumps({"imports": modules}),
    }
    html = (page / "index.html").read_text()
    for name, text in parts.items():
        html = html.replace("{{" + name + "}}", text)
    out = ROOT / "target" / "web" / "whyloss.html"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(html)
    print(f"{out.relative_to(ROOT)}: {len(html):,} bytes, {len(wasm):,} of them WebAssembly, compressed")


if __name__ == "__main__":
    main()
