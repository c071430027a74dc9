# Kills the emulator at ten random moments, and waits each time until the machine is in its old
# state: `sh kill.sh WHYLOSS [SEED]`. It must be process 1 of a process namespace, so that it sees no
# other processes.
set -eu
whyloss=$1 seed=${2:-$(od -An -N4 -tu4 /dev/urandom)}
scratch=$(mktemp -d)
gateways=/run/whyloss-gateway-$(stat --format %i --dereference /proc/self/ns/net)
trap 'rm -r "$scratch"' EXIT
state() {
  ip -oneline link
  ip -oneline address
  for family in -4 -6; do ip $family route show table all; done
  nft list ruleset
  grep . /proc/sys/net/ipv4/conf/*/forwarding /proc/sys/net/ipv6/conf/*/forwarding \
    /proc/sys/net/ipv6/conf/*/accept_ra
  cat /etc/resolv.conf /proc/self/mountinfo
  ls "$gateways" || true
  # Namespaces, and the run's processes.
  readlink /proc/[0-9]*/ns/* /proc/[0-9]*/exe | grep -E ':\[|/(whyloss|nft|sleep)$' | sort -u
} 2>/dev/null
echo "moments by seed $((seed))" >&2
# With squares, a third of the moments are in the first 45 ms, in which a run is set up.
moments=$(awk -v seed="$seed" 'BEGIN { srand(seed); for (i = 0; i < 10; i++) printf "%.3f ", 0.4 * rand() ^ 2 }')
run() { "$whyloss" link --internet --quiet -- sleep 86400 & }
state >"$scratch/before"
run
until ip -oneline link | grep --quiet ' whylink' && [ -e "$gateways" ]; do sleep 0.01; done
sleep 0.2
state >"$scratch/meanwhile"
for seen in ' whylink' whyloss_whylink conf/eth0/forwarding:1 gateway- 'net:\['; do
  if ! diff "$scratch/before" "$scratch/meanwhile" | grep --quiet "^>.*$seen"; then
    echo "the comparison does not see '$seen' of a run" >&2
    exit 1
  fi
done
kill -9 $!
found=0
for moment in $moments; do
  run
  emulator=$!
  sleep "$moment"
  # This test starts no process, which would delay the drawn moment.
  if [ -e "$gateways" ]; then found=$((found + 1)); fi
  kill -9 "$emulator"
  wait "$emulator" || true
  tries=0
  until state >"$scratch/after" && cmp --quiet "$scratch/before" "$scratch/after"; do
    tries=$((tries + 1))
    if [ "$tries" -gt 100 ]; then
      echo "not as it was, after kill -9 at $moment s:" >&2
      diff "$scratch/before" "$scratch/after" >&2 || exit 1
    fi
    sleep 0.1
  done
done
echo "killed when the way out was being made or open: $found of 10"
[ "$found" -gt 0 ]
# Random moments seldom include this one: the emulator ends just before the gateway reports.
ip link add whylinkf type veth peer name whylinkg
ip addr add 10.255.255.1/30 dev whylinkf
ip link set whylinkf up
"$whyloss" link-init gateway -- whylinkf 10.255.255.1 30 </dev/null | true
ip link delete whylinkf
state >"$scratch/after"
if ! diff "$scratch/before" "$scratch/after" >&2; then
  echo "left by a gateway that lost its emulator" >&2
  exit 1
fi
