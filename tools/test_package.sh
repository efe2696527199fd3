#!/usr/bin/env bash
# Makes the release packages and uses them as a user would: unpacked into a prefix that is then moved,
# and installed by dpkg into an empty root; a program is built against each, and run.
#
#   tools/test_package.sh [BUILD_FOLDER]; ends with "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build/release}")
zoo=$PWD/tests/data/zoo
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# try NAME COMMAND...: one check; its output is shown if it fails.
try() {
  local name=$1
  shift
  if "$@" >"$work/log" 2>&1; then
    passed=$((passed + 1))
    echo "ok: $name"
  else
    failed=$((failed + 1))
    echo "FAILED: $name"
    tail -n 40 "$work/log"
  fi
}

# Builds tests/consumer with nothing but the package, and runs it.
consumer() {  # consumer PREFIX
  local folder
  folder=$(mktemp -d -p "$work")
  cmake -S tests/consumer -B "$folder" -DCMAKE_PREFIX_PATH="$1" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF &&
    grep -q "tierup_DIR:PATH=$1" "$folder/CMakeCache.txt" && cmake --build "$folder" &&
    "$folder/consumer" "$zoo/mlp3.pt" 2 20 && "$folder/c_consumer" "$zoo/mlp3.pt2" 2 20
}

answers() {  # answers PREFIX: the command gives the recorded answers.
  "$1/bin/tierup" check "$zoo/mlp3.pt" && "$1/bin/tierup" check "$zoo/pointwise_chain.pt" --rounds 4
}

# The command finds the code generator beside it, if the build made one, and compiles with it.
compiles_kernels() {  # compiles_kernels PREFIX
  "$1/bin/tierup" explain "$zoo/pointwise_chain.pt" --inputs "$zoo/pointwise_chain.case0.safetensors" --calls 6 |
    tee "$work/explained"
  grep -q "compile_groups .* kernels=[1-9]" "$work/explained" && ! grep -q "no compiled kernels" "$work/explained"
}

# Debian packages of the shared libraries that the installed objects name.
needed_packages() {  # needed_packages PREFIX
  find "$1" -type f \( -name '*.so*' -o -path '*/bin/*' \) -exec objdump -p {} + |
    awk '$1 == "NEEDED" && $2 !~ /^(libc|libm|ld-linux.*)\.so/ { print $2 }' | sort -u |
    while read -r library; do
      path=$(ldconfig -p | awk -v name="$library" '$1 == name { print $NF; exit }')
      dpkg-query -S "$(realpath "$path")" "$path" 2>/dev/null | head -n 1 | cut -d: -f1
    done | sort -u
}

# Each of them has its licence in the package, by its own name or that of its development package;
# so have the header libraries that are compiled in.
has_licences() {  # has_licences PREFIX
  local folder=$1/share/doc/tierup missing=0 package
  [ -s "$folder/LICENSE" ] || { echo "no LICENSE"; missing=1; }
  grep -qs "Boost Software License" "$folder"/licences/libboost* || { echo "no licence of Boost"; missing=1; }
  for package in libcli11-dev libkissfft-dev $(needed_packages "$1"); do
    [ -s "$folder/licences/$package" ] || [ -s "$folder/licences/${package%%[0-9]*}-dev" ] ||
      { echo "no licence of $package"; missing=1; }
  done
  [ "$missing" -eq 0 ]
}

# The package depends on the owner of every library that its objects name.
depends_on_all() {  # depends_on_all DEB PREFIX
  local depends missing=0 package
  depends=$(dpkg-deb -f "$1" Depends)
  echo "$depends"
  for package in $(needed_packages "$2"); do
    grep -qw -- "$package" <<<"$depends" || { echo "does not depend on $package"; missing=1; }
  done
  [ "$missing" -eq 0 ]
}

# By dpkg, into a root where nothing is: what it depends on is on this machine. Configuring it would
# run ldconfig, which an empty root has not; the package must ask for nothing else.
install_into() {  # install_into ROOT DEB
  mkdir -p "$1"/var/lib/dpkg/{info,updates} && touch "$1/var/lib/dpkg/status" &&
    dpkg --root="$1" --force-not-root --force-bad-path --log="$work/dpkg.log" --unpack "$2" &&
    ! grep -vE '^#|^$|^set -e|ldconfig|^(if|fi|then)' "$1"/var/lib/dpkg/info/tierup.{pre,post}{inst,rm} 2>/dev/null
}

# Where nothing is installed, one message has the packages of all that is missing.
names_what_is_missing() {
  ! cmake -S . -B "$work/bare" -G Ninja -DTIERUP_TESTS=OFF -DCMAKE_FIND_ROOT_PATH="$work/nothing" \
    -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
    -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY >"$work/said" 2>&1
  cat "$work/said"
  grep -q "apt-get install libfmt-dev zlib1g-dev libboost-dev libdnnl-dev libsimdjson-dev libkissfft-dev$" "$work/said"
}

try "libraries that are missing are named, all at once" names_what_is_missing
rm -rf "$build/package"
try "the packages are made" cpack --config "$build/CPackConfig.cmake" -B "$build/package"
archive=$(find "$build/package" -maxdepth 1 -name 'tierup-*.tar.gz')
deb=$(find "$build/package" -maxdepth 1 -name 'tierup_*.deb')

mkdir "$work/first" && tar -xzf "$archive" -C "$work/first" --strip-components=1
mv "$work/first" "$work/moved"
root=$work/root
try "the .deb installs into an empty root" install_into "$root" "$deb"
try "the .deb depends on all it needs" depends_on_all "$deb" "$root/usr"
for prefix in "$work/moved" "$root/usr"; do
  name=$([ "$prefix" = "$work/moved" ] && echo "the moved archive" || echo "the installed .deb")
  try "$name: a program builds against it and runs" consumer "$prefix"
  try "$name: the command gives recorded answers" answers "$prefix"
  if [ -f "$build/libtierup_codegen.so" ]; then
    try "$name: kernels are compiled" compiles_kernels "$prefix"
  fi
  try "$name: licences are complete" has_licences "$prefix"
done
ls -l "$archive" "$deb" 2>/dev/null | awk '{ print $5 " bytes: " $NF }' | sed "s|$build/||"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
