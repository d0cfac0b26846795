#!/bin/sh
# Builds the benchmark and compares the distribution's libzmq with zlink. Pinned to one processor by default.
set -eu

usage() {
    cat <<'END'
usage: run_benchmarks.sh [option...]
  --with-libzmq      run libzmq in turn with zlink (the default)
  --skip-libzmq      compare with libzmq's results of an earlier run
  --zlink-only       run zlink only, no comparison
  --pattern NAME     PAIR PUBSUB DEALER_DEALER DEALER_ROUTER ROUTER_ROUTER ROUTER_ROUTER_POLL PUSH_PULL or ALL
  --runs N           runs of each cell (3)
  --build-dir PATH   build directory (build/release)
  --output PATH      also write everything printed to this file
  --reuse-build      do not configure or build
  --no-taskset       do not pin
  --io-threads N     ZMQ_IO_THREADS of the context (1)
  --msg-sizes LIST   for example 64,1024
  --size N           one size
  -h, --help         this text
variables: BENCH_TRANSPORTS BENCH_MSG_SIZES BENCH_MSG_COUNT BENCH_WARMUP_COUNT BENCH_LAT_COUNT BENCH_IO_THREADS
           BENCH_NO_TASKSET BENCH_DEBUG BENCH_HWM BENCH_LIBZMQ_LIB_DIR
END
}

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
build_dir=$root/build/release
pattern=ALL
runs=3
output=
reuse_build=no
mode=

needs_value() { [ "$2" -ge 2 ] || { echo "$1: needs a value" >&2; exit 2; }; }

while [ $# -gt 0 ]; do
    case $1 in
    --with-libzmq) mode= ;;
    --skip-libzmq) mode=--skip-libzmq ;;
    --zlink-only) mode=--zlink-only ;;
    --reuse-build) reuse_build=yes ;;
    --no-taskset) export BENCH_NO_TASKSET=1 ;;
    --pattern) needs_value "$1" $#; pattern=$2; shift ;;
    --runs) needs_value "$1" $#; runs=$2; shift ;;
    --build-dir) needs_value "$1" $#; build_dir=$2; shift ;;
    --output) needs_value "$1" $#; output=$2; shift ;;
    --io-threads) needs_value "$1" $#; export BENCH_IO_THREADS="$2"; shift ;;
    --msg-sizes | --size) needs_value "$1" $#; export BENCH_MSG_SIZES="$2"; shift ;;
    -h | --help) usage; exit 0 ;;
    *) echo "unknown option: $1" >&2; usage >&2; exit 2 ;;
    esac
    shift
done

if [ $reuse_build = no ]; then
    cmake -S "$root" -B "$build_dir" -DBUILD_BENCHMARKS=ON
    cmake --build "$build_dir" --target bench_zmq
fi

# The exit status must be the comparison's, not that of tee.
if [ -n "$output" ]; then
    status_file=$(mktemp)
    trap 'rm -f "$status_file"' EXIT
    {
        status=0
        python3 "$here/run_comparison.py" "$pattern" --runs "$runs" --build-dir "$build_dir" --reuse-build $mode || status=$?
        echo $status >"$status_file"
    } | tee "$output"
    exit "$(cat "$status_file")"
fi
exec python3 "$here/run_comparison.py" "$pattern" --runs "$runs" --build-dir "$build_dir" --reuse-build $mode
