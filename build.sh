#!/usr/bin/env bash
# Builds the library for this machine and runs its tests.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
case $(uname -m) in
    x86_64) arch=x64 ;;
    aarch64) arch=arm64 ;;
    *) arch=$(uname -m) ;;
esac
exec "$here/build-scripts/linux/build.sh" "$arch" ON
