# Loads a page of 21 files and 400 kB in Chromium over a link, by TCP and QUIC, IPv4 and IPv6.
# Prints the time to load it, the protocol, and the client's address at the server. Usage: `sh
# browse.sh WHYLOSS LOSS`, on the machine of world.sh with QUIC.
set -eu
whyloss=$1 loss=$2
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
for _ in $(seq 200); do [ -s "$QUIC_KEY" ] && break || sleep 0.05; done
[ -s "$QUIC_KEY" ] || { echo 'no server of QUIC: target/python lacks aioquic' >&2; exit 1; }
load() {
  "$whyloss" link --internet --quiet --rate 10mbit --delay 25ms --loss "$loss" --late-bound 1s -- \
    chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$profile" \
    --host-resolver-rules="MAP site.test $address" --dump-dom "$@" 2>/dev/null |
    grep -o '<title>[^<]*\|<p>[^<]*' | sed 's/<[a-z]*>//' | tr '\n' ' '
  echo
}
for address in 203.0.113.1 '[2001:db8:2::1]'; do
  load http://site.test/page
  load --origin-to-force-quic-on=site.test:443 --ignore-certificate-errors-spki-list="$(cat "$QUIC_KEY")" https://site.test/page
done
