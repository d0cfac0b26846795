#!/bin/sh
# Prints zlink's own version, which stands in zmq.h alone.
set -eu
sed -nE 's/^#define ZLINK_VERSION_(MAJOR|MINOR|PATCH) +//p' "$(dirname "$0")/../include/zmq.h" | paste -sd.
