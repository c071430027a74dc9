# Loads a page of 21 files and 400 kB in Chromium over a link, by IPv4 and IPv6, and prints the time until all is loaded and
# the address that the server sees: `sh browse.sh WHYLOSS LOSS`, on the machine of world.sh.
set -eu
whyloss=$1 loss=$2
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
for address in 203.0.113.1 '[2001:db8:2::1]'; do
  "$whyloss" link --internet --quiet --rate 10mbit --delay 25ms --loss "$loss" --late-bound 1s -- \
    chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$profile" \
    --host-resolver-rules="MAP site.test $address" --dump-dom http://site.test/page 2>/dev/null |
    grep -o '<title>[^<]*\|<p>[^<]*' | sed 's/<[a-z]*>//' | tr '\n' ' '
  echo
done
