#!/bin/sh
# Makes crates/whyloss-sim/src/scenario/recorded.toml from the recordings that docs/guides/radios.md
# names.
#
#   tools/radios/library.sh orbit-802.11.csv RATES >crates/whyloss-sim/src/scenario/recorded.toml
#
# RATES is a directory with tables of tools/radios/rates.py, 5g-car.csv and so on, and with mahimahi's
# traces of AT&T.
set -eu
whyloss=${WHYLOSS:-target/release/whyloss}
csv=$1
tables=$2
echo '# Laws fitted to public recordings. `tools/radios/library.sh` writes this file; docs/guides/radios.md says more.'
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
while IFS='|' read -r name source year measures licence table; do
    options="--law rate --unit kbit/s --interval 1s"
    # shellcheck disable=SC2086
    rate=$("$whyloss" fit $options --format value "$tables/$name.csv")
    trials=$(tail -n +2 "$tables/$name.csv" | cut -d, -f1 | uniq | wc -l)
    cat <<ENTRY

[$name]
name = "$name"
source = "$source"
year = "$year"
measures = "$measures"
licence = "$licence; this project holds parameters alone, none of the recordings"
command = "$table > $name.csv; whyloss fit $options $name.csv"
trials = $trials
rate = $rate
ENTRY
done <<RATES
5g-car|Raca, Leahy, Sreenan, Quinlan: Beyond Throughput, The Next Generation: a 5G Dataset with Channel and Context Metrics (MMSys 2020); uccmisl/5Gdataset|2019 to 2020|downloads by 5G in a car in Ireland, mean rate of a second|GPL-3.0|rates.py 5g Download/Driving
5g-static|Raca, Leahy, Sreenan, Quinlan: Beyond Throughput, The Next Generation: a 5G Dataset with Channel and Context Metrics (MMSys 2020); uccmisl/5Gdataset|2019 to 2020|downloads by 5G at one place in Ireland, mean rate of a second|GPL-3.0|rates.py 5g Download/Static
starlink-car-down|Laniewski, Lanfer, Aschenbruck: Measuring Mobile Starlink Performance: A Comprehensive Look (IEEE OJ-COMS 2025); sys-uos/Starlink-on-the-Autobahn|2024|iperf3 from Starlink to a car on a motorway in Germany, rate of a second|CC BY-SA 4.0|rates.py starlink throughput.csv
starlink-car-up|Laniewski, Lanfer, Aschenbruck: Measuring Mobile Starlink Performance: A Comprehensive Look (IEEE OJ-COMS 2025); sys-uos/Starlink-on-the-Autobahn|2024|iperf3 from a car on a motorway in Germany to Starlink, rate of a second|CC BY-SA 4.0|rates.py starlink throughput.csv --column upload
train-3g|Riiser, Vigmostad, Griwodz, Halvorsen: Commute path bandwidth traces from 3G networks (MMSys 2013); logs in UMass-LIDS/sabre|2011|downloads by HSDPA in three trains between Oslo and Vestby, mean rate of a second|published for download, with a citation of the paper|rates.py riiser report.2011-02-11_1618CET.json report.2011-02-14_0644CET.json report.2011-02-11_1729CET.json
RATES
while IFS='|' read -r name way trace; do
    cat <<ENTRY

[$name]
name = "$name"
source = "Winstein, Sivaraman, Balakrishnan: Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular Networks (NSDI 2013); ravinet/mahimahi, traces"
year = "2013"
measures = "capacity of LTE (AT&T) $way a car in the USA, which a full queue kept busy; rate of 100 ms"
licence = "GPL-3.0; this project holds parameters alone, none of the recordings"
command = "whyloss fit $trace"
trials = 1
rate = $("$whyloss" fit --format value "$tables/$trace")
ENTRY
done <<TRACES
lte-car-down|to|ATT-LTE-driving.down
lte-car-up|from|ATT-LTE-driving.up
TRACES
