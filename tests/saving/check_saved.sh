#!/usr/bin/env bash
# Saves every model of the folders and runs its cases on what was saved, then saves that again: the
# same bytes. Arguments: the tierup binary, folders of cases.
set -euo pipefail
tierup=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/saved"
count=0
for folder in "$@"; do
  for model in "$folder"/*.pt "$folder"/*.pt2; do
    [ -e "$model" ] || continue
    name=$(basename "$model")
    # Compiled packages alone have no program that could be saved with other weights.
    "$tierup" save "$model" --allow-unsupported --out "$work/saved/$name" >/dev/null
    "$tierup" save "$work/saved/$name" --allow-unsupported --out "$work/again" >/dev/null
    cmp "$work/saved/$name" "$work/again"
    count=$((count + 1))
  done
  cp "$folder"/*.safetensors "$folder"/*.json "$work/saved/" 2>/dev/null || true
  "$tierup" check "$work/saved" | tail -n 3
  rm -f "$work/saved"/*
done
[ "$count" -gt 20 ] || { echo "FAILED: only $count models"; exit 1; }
echo "$count models saved"
