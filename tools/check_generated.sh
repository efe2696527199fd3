#!/usr/bin/env bash
# Fails if a generated page differs from what the build says; with --write, writes it instead.
set -euo pipefail
cd "$(dirname "$0")/.."
tierup=build/release/tierup
write=false
for argument in "$@"; do
  case $argument in
    --write) write=true ;;
    *) tierup=$argument ;;
  esac
done
if $write; then
  "$tierup" ops --markdown >docs/generated/ops.md
else
  "$tierup" ops --markdown | diff -u docs/generated/ops.md - ||
    { echo "docs/generated/ops.md is stale: run tools/check_generated.sh --write"; exit 1; }
fi
