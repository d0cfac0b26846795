#!/usr/bin/python3
# libavfilter8: the filter zmq of ffmpeg obeys a command of a REQ
import subprocess

import zmq

chain = "testsrc=duration=30:rate=25,zmq=bind_address=tcp\\\\\\://127.0.0.1\\\\\\:15602,drawbox@box=color=red,realtime"
with subprocess.Popen(["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", chain, "-f", "null", "-"]) as ffmpeg:
    with zmq.Context().socket(zmq.REQ) as client:
        client.connect("tcp://127.0.0.1:15602")
        client.send(b"drawbox@box x 40")
        answer = client.recv()
    ffmpeg.terminate()
assert answer.startswith(b"0 Success"), answer
