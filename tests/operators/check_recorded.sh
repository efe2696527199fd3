#!/usr/bin/env bash
# The recorded operator cases: all pass but those listed, in which PyTorch itself is wrong (decision 0014).
# Arguments: the tierup binary, the folder of cases, the list.
set -uo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" check "$2" >"$work/out"
tail -n 1 "$work/out"
grep -q ', 0 refused$' "$work/out" || { echo "FAILED: cases were refused, or there is no count"; exit 1; }
grep '^failed ' "$work/out" | sed -E 's/^failed ([^ ]+) case ([0-9]+) .*/\1 \2/' | sort >"$work/failed"
grep -v '^#' "$3" | sort | diff - "$work/failed" >"$work/diff" && exit 0
echo "FAILED: other cases than those listed (<: is listed and passed, >: failed):"
cat "$work/diff"
grep -E '^(failed|refused) ' "$work/out"
exit 1
