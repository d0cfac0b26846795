"""ffmpeg publishes a film by its zmq: protocol, another hears it, and a filter of the first obeys a REQ; pyzmq and ffmpeg on one library."""

import re
import socket
import subprocess
import sys

import zmq

PATIENCE_S = 60
FRAMES_HEARD = 50


def free_port():
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return asked.getsockname()[1]


def command(context, endpoint, text):
    """What the filter answers, as soon as it is there."""
    with context.socket(zmq.REQ) as req:
        req.linger, req.rcvtimeo = 0, PATIENCE_S * 1000
        req.connect(endpoint)
        req.send_string(text)
        return req.recv_string()


def main():
    film, orders = ("tcp://127.0.0.1:%d" % free_port() for _ in range(2))
    quoted = orders.replace(":", "\\\\\\:")
    publisher = subprocess.Popen(
        ["ffmpeg", "-nostdin", "-loglevel", "error", "-re", "-f", "lavfi", "-i",
         "testsrc=size=160x120:rate=25,zmq=bind_address=%s,hue@colour=h=0" % quoted,
         "-g", "5", "-c:v", "mpeg2video", "-f", "mpegts", "zmq:" + film])
    try:
        with zmq.Context() as context:
            answers = [command(context, orders, "hue@colour h %d" % degrees) for degrees in range(0, 360, 10)]
        if any(not answer.startswith("0 ") for answer in answers):
            raise SystemExit("the filter answered %s" % answers)
        heard = subprocess.run(["ffmpeg", "-nostdin", "-loglevel", "error", "-stats", "-i", "zmq:" + film, "-frames:v", str(FRAMES_HEARD),
                                "-f", "null", "-"], stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S, check=True).stderr
        frames = int(re.findall(r"frame=\s*(\d+)", heard)[-1])
        if frames != FRAMES_HEARD:
            raise SystemExit("heard %d frames: %s" % (frames, heard))
    finally:
        publisher.kill()
        publisher.wait()
    print("%d frames heard, %d commands obeyed" % (frames, len(answers)))


if __name__ == "__main__":
    sys.exit(main())
