# The code that the steps share. Each step begins with `. "$(dirname "$0")/../lib.sh"`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CARGO_TERM_COLOR=never

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# A temporary directory for one step, removed when the step ends. Steps may leave root's files in
# it.
out=$(mktemp -d)
trap 'rm -rf "$out" 2>/dev/null || as_root rm -rf "$out"' EXIT

# The directory for programs of other simulators, compiled once for all steps.
cache=$PWD/target/ci-cache

# Creates the environment of the Python package, whose packages other steps also use.
python_environment() {
  python=$PWD/target/python
  [ -x "$python/bin/pip" ] || /usr/bin/python3 -m venv "$python"
  "$python/bin/pip" install --quiet --disable-pip-version-check -r python/requirements-ci.txt
}

# The command, built as in the README's main job.
whyloss=$PWD/target/release/whyloss
release() { cargo build --release --quiet; }
