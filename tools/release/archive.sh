#!/usr/bin/env bash
# Builds the command for one target and packs it for a release, with its man page, completions and
# licences.
#
#   tools/release/archive.sh TARGET DIRECTORY     DIRECTORY/whyloss-TARGET.tar.gz and its .sha256
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$1
mkdir -p "$2"
directory=$(cd "$2" && pwd)

cargo build --release --locked --quiet --target "$target" -p whyloss-cli
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
name=whyloss-$target
mkdir "$stage/$name"
program=target/$target/release/whyloss
[ -e "$program" ] || program=$program.exe
cp "$program" README.md LICENSE-APACHE LICENSE-MIT "$stage/$name"
"$program" man >"$stage/$name/whyloss.1"
for shell in bash zsh fish powershell; do
  "$program" completions "$shell" >"$stage/$name/whyloss.$shell"
done
tar -C "$stage" -czf "$directory/$name.tar.gz" "$name"
cd "$directory"
if command -v sha256sum >/dev/null; then sha256sum "$name.tar.gz"; else shasum -a 256 "$name.tar.gz"; fi >"$name.tar.gz.sha256"
