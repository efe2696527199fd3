#!/usr/bin/env bash
# Wheels for others' machines, of a build folder: `tierup` with oneDNN and libgomp in it, and `tierup-jit` with the code
# generator and LLVM. They carry what they need, and say from which glibc on they run (manylinux).
#
#     tools/build_wheels.sh BUILD_FOLDER OUTPUT_FOLDER     (with build, auditwheel, patchelf and so on on the PATH)
#
# libgomp keeps its name, so that PyTorch and tierup share one, whichever is imported first.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(readlink -f "$1")
out=$2
mkdir -p "$out"
out=$(readlink -f "$out")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
platform=${PLATFORM:-manylinux_2_36_x86_64}

python -m build -q --wheel --no-isolation -o "$scratch" -C build-dir="$scratch/base" -C install.components=python \
  -C cmake.define.TIERUP_PREBUILT="$build" -C cmake.define.TIERUP_BUNDLE=ON .
auditwheel repair --strip --exclude libgomp.so.1 --plat "$platform" -w "$out" "$scratch"/tierup-*.whl

if [ -e "$build/libtierup_codegen.so" ]; then
  python -m build -q --wheel --no-isolation -o "$scratch/jit" -C build-dir="$scratch/jit-build" \
    -C cmake.define.TIERUP_PREBUILT="$build" python/jit
  # What the base wheel has is found there, or in every system.
  auditwheel repair --strip --plat "$platform" -w "$out" "$scratch"/jit/*.whl
fi
ls -l "$out"
