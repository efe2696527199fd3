#!/usr/bin/env bash
# Makes build/aarch64-root: the libraries and headers that tierup needs, for AArch64, as Debian has
# them. cmake/aarch64.cmake compiles over it, QEMU runs programs over it.
#
# Packages are fetched by a package list of this script's own and unpacked, never installed, so this
# machine's packages stay as they are (no foreign architecture is added). Only the compiler and QEMU
# are installed, as root or through sudo. Safe to run twice.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/build/aarch64-root
fetched=$PWD/build/aarch64-packages

tools=()
for package in g++-aarch64-linux-gnu qemu-user; do
  dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || tools+=("$package")
done
if [ ${#tools[@]} -gt 0 ]; then
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  echo "aarch64_root: installing ${tools[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${tools[@]}"
fi

# With everything that they depend on.
packages=(
  libc6-dev libstdc++-12-dev libgomp1
  libfmt-dev libcli11-dev libsimdjson-dev zlib1g-dev libboost-dev
  libdnnl-dev libkissfft-dev libllvm19 libopenblas0-serial liblapack3
  libgtest-dev libgmock-dev librapidcheck-dev
)
alone=(llvm-19-dev)  # For its headers; it depends on all that LLVM's own tools need.
wanted="${packages[*]} ${alone[*]} 1"  # The number: of what is done with them below.
if [ "$(cat "$root/.made_of" 2>/dev/null)" = "$wanted" ]; then
  echo "aarch64_root: $root is there"
  exit 0
fi

mkdir -p "$fetched/lists/partial" "$fetched/archives/partial"
: >"$fetched/status"  # Nothing is installed there.
cat >"$fetched/apt.conf" <<CONF
#clear APT::Architectures;
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Dir::State "$fetched";
Dir::State::status "$fetched/status";
Dir::Cache "$fetched";
CONF
export APT_CONFIG=$fetched/apt.conf
echo "aarch64_root: fetching packages"
apt-get update -qq
apt-get install -qq -y --download-only "${packages[@]}" >/dev/null
(cd "$fetched/archives" && apt-get download -qq "${alone[@]}")

echo "aarch64_root: unpacking them"
rm -rf "$root"
mkdir -p "$root"
for package in "$fetched"/archives/*.deb; do
  leave_out=(--exclude=./usr/share/doc --exclude=./usr/share/man)
  case $package in
    */llvm-19-dev_*) leave_out+=(--exclude=*.a) ;;
  esac
  dpkg-deb --fsys-tarfile "$package" | tar x -C "$root" "${leave_out[@]}"
done
# Links are meant from the root of a machine's files.
find "$root" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
  ln -sfrn "$root$(readlink "$link")" "$link"
done
# What an installation would have chosen among alternatives.
ln -sfn openblas-serial/libopenblas.so.0 "$root/usr/lib/aarch64-linux-gnu/libopenblas.so.0"
echo "$wanted" >"$root/.made_of"
echo "aarch64_root: made $root"
