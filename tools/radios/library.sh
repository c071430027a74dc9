#!/bin/sh
# Makes crates/whyloss-sim/src/scenario/recorded.toml from the recordings that docs/guides/radios.md names:
#   tools/radios/library.sh orbit-802.11.csv > crates/whyloss-sim/src/scenario/recorded.toml
set -eu
whyloss=${WHYLOSS:-target/release/whyloss}
csv=$1
echo '# Channels fitted to public recordings. `tools/radios/library.sh` writes this file; docs/guides/radios.md says more.'
number=0
while read -r from to; do
    number=$((number + 1))
    options="--loss-from $from --loss-to $to"
    # shellcheck disable=SC2086
    fit=$("$whyloss" fit "$csv" $options)
    channel=$(echo "$fit" | sed -n 's/^channel = //p')
    trials=$(echo "$fit" | sed -n 's/^# \([0-9]*\) trials, .*/\1/p')
    cat <<ENTRY

[wifi-802_11-loss-$number]
name = "wifi-802.11-loss-$number"
source = "ORBIT test bed, Rutgers University; CRAWDAD rutgers/noise; sensorlab/link-quality-estimation, trace 1"
year = "2005"
measures = "802.11 frames broadcast every 100 ms without retransmission, links that lose $from to $to"
licence = "terms of CRAWDAD rutgers/noise (2007-04-20); this project holds parameters alone, none of the recordings"
command = "whyloss fit orbit-802.11.csv $options"
trials = $trials
channel = $channel
ENTRY
done <<BANDS
0.003 0.01
0.01 0.02
0.02 0.04
0.04 0.08
0.08 0.16
0.16 0.3
BANDS
