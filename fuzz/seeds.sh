#!/usr/bin/env bash
# Keeps the seeds of each fuzz target in one archive, the same bytes for the same seeds.
#
#   fuzz/seeds.sh unpack           fuzz/seeds/TARGET.tar.gz into fuzz/corpus/seeds/TARGET
#   fuzz/seeds.sh pack TARGET DIR  the files of DIR into fuzz/seeds/TARGET.tar.gz
set -euo pipefail
cd "$(dirname "$0")"

case ${1-} in
  unpack)
    for archive in seeds/*.tar.gz; do
      target=$(basename "$archive" .tar.gz)
      rm -rf "corpus/seeds/$target"
      mkdir -p "corpus/seeds/$target"
      tar -xzf "$archive" -C "corpus/seeds/$target"
    done
    # Seeds not packed yet.
    for loose in seeds/*/; do
      [ ! -d "$loose" ] || { mkdir -p "corpus/$loose" && cp "$loose"* "corpus/$loose"; }
    done
    ;;
  pack)
    target=$2
    directory=$(cd "$OLDPWD" && realpath "$3")
    tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rw,go=r -C "$directory" -cf - \
      $(cd "$directory" && ls) | gzip -9n >"seeds/$target.tar.gz"
    ;;
  *)
    echo "seeds.sh takes unpack, or pack TARGET DIR" >&2
    exit 2
    ;;
esac
