#!/bin/bash
# libavformat59: a video over zmq:tcp:// from one ffmpeg to another
set -euo pipefail
cd "$(mktemp -d)"
ffmpeg -v error -nostdin -re -f lavfi -i testsrc=duration=60:rate=25:size=640x480 -c:v mpeg2video -f mpegts zmq:tcp://127.0.0.1:15601 &
ffmpeg -v error -nostdin -analyzeduration 1000000 -f mpegts -i zmq:tcp://127.0.0.1:15601 -frames:v 30 -f null -progress progress -
kill $!
grep -q 'frame=30' progress
