#!/bin/sh
# Scores receiver classifiers in networks on which the trees were not trained: the papers' last hop
# and backbone (high loss) for 1 to 16 flows, beside flows without a classifier on links that lose
# nothing, and behind FQ-CoDel and links that retransmit. docs/evidence/classifier.md has the
# figures.
#
#   tools/classifier/evidence.sh [DRIVERS]      from the repository's root; takes a minute on two
#                                               cores, without the build
set -eu
drivers=${1:-trees,zbs-2003,zbs,zbs2,zbs3,spike,mbiaz,biaz,zigzag,unaware,oracle}
train() { cargo run --release --quiet -p whyloss-train -- "$@"; }

# N, the shared rate (kbit/s), the queue limit in packets, the rate of each warm-up source (Cen,
# Cosman & Voelker, Section 5.3).
papers() {
    file=$1 far=$2
    while read -r flows rate packets warm; do
        echo "$file, $flows flows"
        train run "scenarios/$file.toml" --flows video --seeds 3 --drivers "$drivers" \
            --set link.lan.count="$flows" --set link."$far".count="$flows" --set flow.video.count="$flows" \
            --set "link.shared.rate=$rate kbit/s" --set link.shared.queue.packets="$packets" \
            --set "flow.warm-up.transport.rate=$warm kbit/s" </dev/null
    done
}
printf '%s\n' "1 260 5 130" "2 260 5 130" "4 520 7 260" "8 1040 16 520" "16 2080 33 1040" | papers wlh last
printf '%s\n' "1 800 12 400" "2 800 12 400" "4 800 12 400" "8 800 12 400" "16 1600 25 800" | papers wb far

# The queues hold a quarter of a product of the rate (Mbit/s) and a round trip of 92 ms, one
# product, and two, in packets.
for plain in '{ kind = "tfrc" }' '{ kind = "tcp", recovery = "newreno" }'; do
    for link in "1 4" "1 12" "1 23" "4 12" "4 46" "4 92" "16 46" "16 184"; do
        echo "beside $plain, $link"
        train run scenarios/beside.toml --flows telling --seeds 3 --drivers unaware,trees,zbs-2003 \
            --set "flow.plain.transport=$plain" --set "link.shared.rate=${link% *} Mbit/s" \
            --set link.shared.queue.packets="${link#* }"
    done
done

for family in "--queue fq-codel" "--arq" "--queue fq-codel --arq"; do
    echo "60 networks of seed 2000, $family"
    # The variable may have several words.
    # shellcheck disable=SC2086
    train judge --seed 2000 --networks 60 --drivers trees,zbs-2003 $family
done
