#!/usr/bin/env bash
# Formatting, layering and style; with --tidy also clang-tidy over the files of a release build.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0
mapfile -t sources < <(git ls-files '*.cc' '*.h')
if ! clang-format --dry-run -Werror "${sources[@]}" 2>/tmp/tierup-format.$$; then
  grep -E 'error:' /tmp/tierup-format.$$ | cut -d: -f1 | sort | uniq -c | sort -rn
  echo "format: run clang-format -i on the files above"
  failed=1
else
  echo "format: clean"
fi
rm -f /tmp/tierup-format.$$
python3 tools/check_layers.py || failed=1
(cd tools && python3 -m unittest -q check_layers_test 2>&1 | tail -1) || failed=1
(cd cmake && python3 -m unittest -q united_sources_test 2>&1 | tail -1) || failed=1
python3 tools/check_style.py || failed=1
python3 tools/check_coverage.py || failed=1
python3 tools/planted_faults.py --applies || failed=1
if [ "${1:-}" = "--tidy" ]; then
  # A folder of its own, in which every file has its command.
  cmake --preset release -B build/tidy >/dev/null
  git ls-files 'tierup/*.cc' | grep -v -e '_test.cc' -e '_avx' -e '_base' |
    xargs -P "$(nproc)" -n 4 clang-tidy -p build/tidy --quiet || failed=1
fi
exit $failed
