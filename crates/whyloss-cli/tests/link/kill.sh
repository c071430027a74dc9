# Kills the emulator at ten random moments, and waits until nothing of the run is left: `sh kill.sh
# WHYLOSS`.
set -eu
whyloss=$1 mark=86400.$$
rest() {
  grep -o 'wl[0-9a-f]*:' /proc/net/dev
  nft list tables
  ls /run/whyloss-gateway-"$(stat --format %i --dereference /proc/self/ns/net)"
  grep --no-messages --null-data --files-with-matches --line-regexp "$mark" /proc/[0-9]*/cmdline
  cat /proc/sys/net/ipv4/conf/eth0/forwarding /proc/sys/net/ipv6/conf/all/forwarding | grep 1
  grep -L 'nameserver 203.0.113.1' /etc/resolv.conf
} 2>/dev/null
found=0
for moment in 1 2 3 4 5 6 7 8 9 10; do
  "$whyloss" link --internet --quiet -- sleep "$mark" &
  emulator=$!
  sleep "0.$(printf %03d $(($(od -An -N2 -tu2 /dev/urandom) % 400)))"
  if rest | grep -q .; then found=$((found + 1)); fi
  kill -9 "$emulator"
  wait "$emulator" || true
  tries=0
  while rest >/tmp/rest.$$; [ -s /tmp/rest.$$ ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt 100 ]; then
      echo "left after kill -9: $(cat /tmp/rest.$$)" >&2
      exit 1
    fi
    sleep 0.1
  done
done
rm /tmp/rest.$$
# The check can find something: the runs were under way.
[ "$found" -gt 0 ]
# A moment that chance seldom meets: the emulator ends just before the gateway says that it is up.
ip link add wlf type veth peer name wlg
ip addr add 10.255.255.1/30 dev wlf
ip link set wlf up
"$whyloss" link-init gateway -- wlf 10.255.255.1 30 </dev/null | true
ip link delete wlf
if rest | grep . >&2; then
  echo "left by a gateway that lost its emulator" >&2
  exit 1
fi
