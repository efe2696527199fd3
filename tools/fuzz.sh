#!/usr/bin/env bash
# Builds the fuzz targets (preset asan, clang) and runs each for N seconds (default 20) from its seeds.
# Arguments after N name the targets. What a run finds stays in build/asan/found/<target>.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-20}
shift || true
cmake --preset asan >/dev/null
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  mapfile -t targets < <(cd fuzz && ls -- *_fuzz.cc | sed 's/\.cc$//')
fi
ninja -C build/asan "${targets[@]}"
failed=0
for target in "${targets[@]}"; do
  found=build/asan/found/$target
  mkdir -p "$found/corpus"
  binary=$(find build/asan -name "$target" -type f -perm -u+x)
  echo "== $target"
  "$binary" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="$found/" "$found/corpus" "fuzz/corpus/$target" 2>"$found/log" || failed=1
  grep -E 'number_of_executed_units|ERROR|SUMMARY|Done' "$found/log" || true
done
exit $failed
