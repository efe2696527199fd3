#!/usr/bin/env bash
# Installs every Debian package that building and testing tierup needs; as root, or through sudo.
# Safe to run twice: packages that are there are left alone. `--ci` adds the linters and clang,
# `--page` the browser of `make test-page` (350 MB), which nothing else asks for.
set -euo pipefail

packages=(
  build-essential cmake ninja-build ccache mold git python3
  libfmt-dev libcli11-dev libsimdjson-dev zlib1g-dev libboost-dev
  libdnnl-dev libkissfft-dev llvm-19-dev libzstd-dev libopenblas0-serial liblapack3
  libgtest-dev libgmock-dev librapidcheck-dev
)
if [ "${1:-}" = "--ci" ]; then
  packages+=(clang clang-format clang-tidy libclang-rt-14-dev libomp-dev libbenchmark-dev python3-dev python3-venv)
fi

# Tests that need one of these are skipped where it cannot be had.
optional=(qemu-user)
[ "${1:-}" != "--page" ] || optional+=(chromium)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
lacking=()
for package in "${optional[@]}"; do
  dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || lacking+=("$package")
done
if [ ${#missing[@]} -eq 0 ] && [ ${#lacking[@]} -eq 0 ]; then
  echo "setup: all ${#packages[@]} packages are installed"
  exit 0
fi
if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif command -v sudo >/dev/null; then
  as_root=(sudo)
elif [ ${#missing[@]} -gt 0 ]; then
  echo "setup: needs root (or sudo) to install: ${missing[*]}" >&2
  exit 1
else
  echo "setup: tests that need ${lacking[*]} are skipped: installing it takes root (or sudo)"
  exit 0
fi
install() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; }
echo "setup: installing ${missing[*]} ${lacking[*]}"
"${as_root[@]}" apt-get update -qq || [ ${#missing[@]} -eq 0 ]
[ ${#missing[@]} -eq 0 ] || install "${missing[@]}"
for package in "${lacking[@]}"; do
  install "$package" || echo "setup: $package cannot be installed: tests that need it are skipped"
done
echo "setup: done"
