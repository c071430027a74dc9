#!/bin/sh
# Installs the command `whyloss` of the latest release:
#
#   curl -LsSf https://github.com/whyloss/whyloss/releases/latest/download/install.sh | sh
#
# WHYLOSS_BIN      the directory for the command; ~/.local/bin by default
# WHYLOSS_RELEASE  the address of the files; the latest release by default
set -eu

release=${WHYLOSS_RELEASE:-https://github.com/whyloss/whyloss/releases/latest/download}
bin=${WHYLOSS_BIN:-$HOME/.local/bin}

fail() {
  echo "whyloss: $*" >&2
  exit 1
}

case "$(uname -s) $(uname -m)" in
  "Linux x86_64") target=x86_64-unknown-linux-musl ;;
  "Linux aarch64" | "Linux arm64") target=aarch64-unknown-linux-musl ;;
  "Darwin x86_64") target=x86_64-apple-darwin ;;
  "Darwin arm64") target=aarch64-apple-darwin ;;
  *) fail "no binary for $(uname -s) on $(uname -m); build it in a clone: cargo install --path crates/whyloss-cli" ;;
esac

if command -v curl >/dev/null; then
  fetch() { curl -LsSf "$1" -o "$2"; }
elif command -v wget >/dev/null; then
  fetch() { wget -q "$1" -O "$2"; }
else
  fail "needs curl or wget"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
archive=whyloss-$target.tar.gz
fetch "$release/$archive" "$work/$archive" || fail "cannot fetch $release/$archive"
fetch "$release/$archive.sha256" "$work/$archive.sha256" || fail "cannot fetch $release/$archive.sha256"
if command -v sha256sum >/dev/null; then
  (cd "$work" && sha256sum -c "$archive.sha256" >/dev/null 2>&1) || fail "$archive does not match its checksum; nothing was installed"
else
  (cd "$work" && shasum -a 256 -c "$archive.sha256" >/dev/null 2>&1) || fail "$archive does not match its checksum; nothing was installed"
fi
tar -xzf "$work/$archive" -C "$work"
mkdir -p "$bin"
# The new file is written next to the old one first, so that a running command is replaced
# completely or not at all.
cp "$work/whyloss-$target/whyloss" "$bin/.whyloss.new"
mv "$bin/.whyloss.new" "$bin/whyloss"
echo "installed $bin/whyloss"
case ":$PATH:" in
  *":$bin:"*) ;;
  *) echo "add $bin to PATH to call it by its name" ;;
esac
