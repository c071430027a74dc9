# What the steps share. Each begins with `. "$(dirname "$0")/../lib.sh"`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CARGO_TERM_COLOR=never

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# A directory of the step alone, which goes when the step ends. Steps run as root leave files of
# root in it.
out=$(mktemp -d)
trap 'rm -rf "$out" 2>/dev/null || as_root rm -rf "$out"' EXIT

# Programs of other simulators, compiled once for all steps.
cache=$PWD/target/ci-cache

# The environment of the Python package, whose packages other steps use as well.
python_environment() {
  python=$PWD/target/python
  [ -x "$python/bin/pip" ] || /usr/bin/python3 -m venv "$python"
  "$python/bin/pip" install --quiet --disable-pip-version-check -r python/requirements-ci.txt
}

# The command as the README's main job builds it.
whyloss=$PWD/target/release/whyloss
release() { cargo build --release --quiet; }
