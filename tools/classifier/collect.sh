#!/bin/sh
# Collects the rows on which the trees of `whyloss` are grown, from drawn networks under the scheme
# as it is: TCP and QUIC behind six kinds of queues, with channel losses and without.
#
#   tools/classifier/collect.sh DIRECTORY SEED NETWORKS     from the repository's root
set -eu
out=$1 seed=$2 networks=$3
mkdir -p "$out"
train() { cargo run --release --quiet -p whyloss-train -- "$@"; }
for carrier in tcp quic; do
    for queue in drawn shallow pie red codel fq-codel; do
        for clean in 0 1; do
            seed=$((seed + 1))
            set -- --seed "$seed" --networks "$networks"
            [ $carrier = quic ] || set -- "$@" --tcp 'recovery = "rack"'
            set -- "$@" schemes --seconds 60 --evidence "$out/$carrier.$queue.$clean.bin"
            [ $carrier = tcp ] || set -- "$@" --quic
            [ $clean = 0 ] || set -- "$@" --clean
            case $queue in
            drawn) ;;
            shallow) set -- "$@" --shallow ;;
            *) set -- "$@" --queue $queue ;;
            esac
            train "$@" whyloss
        done
    done
done
