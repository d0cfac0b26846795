#!/usr/bin/env bash
# Builds libzmq.so.5 and libzmq.a into build/release/lib.
#
# Usage: build.sh [ARCH [RUN_TESTS]]
#   ARCH       x64 or arm64; that of this machine (`cmake --preset aarch64` builds for arm64 on another). Default: x64.
#   RUN_TESTS  ON or OFF. Default: ON.
set -euo pipefail

arch=${1:-x64}
run_tests=${2:-ON}

case $arch in
    x64) machine=x86_64 ;;
    arm64) machine=aarch64 ;;
    *) echo "unknown architecture: $arch (x64 or arm64)" >&2; exit 2 ;;
esac
case $run_tests in
    ON | OFF) ;;
    *) echo "RUN_TESTS is ON or OFF, not $run_tests" >&2; exit 2 ;;
esac
if [ "$machine" != "$(uname -m)" ]; then
    echo "this machine is $(uname -m): $arch cannot be built here" >&2
    exit 2
fi

cd "$(dirname "$0")/../.."
make deps
cmake --preset release -D BUILD_TESTS="$run_tests"
cmake --build --preset release -j "$(nproc)"
if [ "$run_tests" = ON ]; then
    ctest --preset release
fi
ls -l build/release/lib
