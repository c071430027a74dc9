# Runs a shell command on a separate machine, with a substitute for the internet behind it. Both are
# network namespaces that end with this script: `unshare --net --mount sh world.sh DIRECTORY-OF-THIS
# COMMAND`. UPLINK names the machine's device, eth0 by default. QUIC_PYTHON, a Python with aioquic,
# adds HTTP/3. QUIC_KEY is the file for the hash of its key.
set -eu
here=$1 command=$2 uplink=${UPLINK-eth0}
ip link set lo up
ip link add "$uplink" type veth peer name inet0
# The internet: a server of names and pages, at addresses that no other host has.
unshare --net --kill-child sh -ec '
  while ! ip link show inet0 >/dev/null 2>&1; do sleep 0.01; done
  ip link set lo up
  echo 0 >/proc/sys/net/ipv6/conf/inet0/accept_dad
  ip link set inet0 up
  ip addr add 192.0.2.1/24 dev inet0
  ip addr add 2001:db8:1::1/64 dev inet0
  ip addr add 203.0.113.1/32 dev lo
  ip addr add 2001:db8:2::1/128 dev lo
  if [ -n "${QUIC_PYTHON-}" ]; then
    setpriv --pdeathsig KILL "$QUIC_PYTHON" "$1/quic.py" "$QUIC_KEY" 203.0.113.1 2001:db8:2::1 &
  fi
  exec /usr/bin/python3 "$1/internet.py"' - "$here" &
internet=$!
trap 'kill -9 $internet' EXIT
while [ "$(readlink /proc/$internet/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
ip link set inet0 netns $internet
echo 0 >/proc/sys/net/ipv6/conf/$uplink/accept_dad
ip link set "$uplink" up
ip addr add 192.0.2.2/24 dev "$uplink"
ip addr add 2001:db8:1::2/64 dev "$uplink"
ip route add default via 192.0.2.1
ip -6 route add default via 2001:db8:1::1
for all in ipv4 ipv6; do echo 0 >/proc/sys/net/$all/conf/all/forwarding; done
mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
echo 'nameserver 203.0.113.1' >/mnt/resolv.conf
mount --bind /mnt/resolv.conf /etc/resolv.conf
umount --lazy /mnt
until curl --silent --max-time 1 --output /dev/null http://site.test/; do sleep 0.05; done
sh -ec "$command"
