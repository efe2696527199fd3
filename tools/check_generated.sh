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
status=0
for page in ops:--markdown derivatives:--derivatives; do
  file=docs/generated/${page%%:*}.md
  if $write; then
    "$tierup" ops "${page##*:}" >"$file"
  elif ! "$tierup" ops "${page##*:}" | diff -u "$file" -; then
    echo "$file is stale: run tools/check_generated.sh --write"
    status=1
  fi
done
exit $status
