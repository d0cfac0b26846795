"""zlink dump: what libzmq's sockets say to each other through a relay, and what stands in captures that are made here."""

import json
import os
import pathlib
import re
import signal
import socket
import struct
import tempfile

import pytest
import zmq
from conftest import run

GREETING = b"\xff" + bytes(8) + b"\x7f\3\1" + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\4\x1a\5READY\x0bSocket-Type\0\0\0\4PUSH"


@pytest.fixture
def between(start, peer):
    """A relay between a socket that is bound and one that is connected."""

    def begin(near, far, *flags, prepare=lambda near, far: None):
        near, far = peer(near).socket, peer(far).socket
        prepare(near, far)
        far.bind("tcp://127.0.0.1:*")
        relay = start("dump", "--relay", "tcp://127.0.0.1:*", far.last_endpoint.decode(), *flags)
        near.connect(relay.bound())
        return relay, near, far

    return begin


def said_until_interrupted(relay):
    relay.process.send_signal(signal.SIGINT)
    return relay.end(status=130).decode()


def test_a_relay_tells_what_both_ends_say(between):
    relay, req, rep = between(zmq.REQ, zmq.REP)
    req.send_multipart([b"one\n", b"x" * 300])
    rep.send(rep.recv_multipart()[0])
    assert req.recv() == b"one\n"
    said = said_until_interrupted(relay)
    assert said.count("greeting ZMTP 3.1, mechanism NULL") == 2
    assert '> command' in said and 'READY: Socket-Type "REQ"' in said and 'READY: Socket-Type "REP"' in said
    assert '> message  4 octets, more: "one\\n"' in said and "> message  300 octets: \"" + "x" * 32 + '"...' in said
    assert '< message  4 octets: "one\\n"' in said


def test_subscriptions_are_named_and_octets_left_out(between):
    relay, sub, pub = between(zmq.SUB, zmq.XPUB, "--headers-only")
    sub.subscribe("weather")
    assert pub.recv() == b"\1weather"
    pub.send(b"weather: rain")
    assert sub.recv() == b"weather: rain"
    said = said_until_interrupted(relay)
    assert "< message  13 octets\n" in said and "rain" not in said and "octets, SUBSCRIBE\n" in said


def plain(near, far):
    far.plain_server = True
    near.plain_username, near.plain_password = b"user", b"secret"


@pytest.mark.parametrize("flag", ["--headers-only", "--show-secrets"])
def test_a_password_is_shown_where_that_is_asked_for(between, flag):
    relay, push, pull = between(zmq.PUSH, zmq.PULL, flag, prepare=plain)
    assert pull.plain_server and push.plain_username
    said = ""
    while "HELLO" not in said:
        assert (line := relay.line().decode())  # libzmq asks a handler then, and there is none
        said += line
    said += said_until_interrupted(relay)
    assert 'HELLO, username "user", password ' in said and ("secret" in said) == (flag == "--show-secrets")


def test_a_box_is_told_as_a_box(between):
    def curve(near, far):
        public, far.curve_secretkey = zmq.curve_keypair()
        near.curve_serverkey, far.curve_server = public, True
        near.curve_publickey, near.curve_secretkey = zmq.curve_keypair()

    relay, push, pull = between(zmq.PUSH, zmq.PULL, "-f", "json", prepare=curve)
    push.send(b"x")
    assert pull.recv() == b"x"
    told = [json.loads(line) for line in said_until_interrupted(relay).splitlines()]
    assert [each["words"].split(",")[0] for each in told if each["kind"] == "command"] == ["HELLO", "WELCOME", "INITIATE", "READY"]
    assert [each["words"] for each in told if each["kind"] == "message"] == ["sealed"] and not any("hex" in each for each in told)


OLD = {"1.0": b"\1\0" + b"\1\1" + b"\6\0hello",  # a routing id of no octets, and a request
       "2.0": b"\xff" + bytes(7) + b"\1\x7f\1\3" + b"\0\0" + b"\1\0" + b"\0\5hello"}


@pytest.mark.parametrize("version", OLD)
def test_older_peers_are_decoded_both_ways(start, peer, version):
    rep = peer(zmq.REP).socket
    rep.bind("tcp://127.0.0.1:*")
    relay = start("dump", "--relay", "tcp://127.0.0.1:*", rep.last_endpoint.decode(), "-n", "1")
    with socket.create_connection(("127.0.0.1", int(relay.bound().rpartition(":")[2]))) as old:
        old.sendall(OLD[version])
        assert rep.recv() == b"hello"
        rep.send(b"world")
        received = b""
        while not received.endswith(b"world"):
            received += old.recv(100)
    rep.close()
    said = re.sub(r"^\S+ #1 ", "", relay.end().decode(), flags=re.M)
    for side, name, words in (("> ", "REQ", "hello"), ("< ", "REP", "world")):
        told = [line[2:] for line in said.splitlines() if line.startswith(side)]
        greeting = ['greeting ZMTP 1.0, routing id ""'] if version == "1.0" else [
            f"greeting ZMTP 2.0, Socket-Type {name}", 'greeting routing id ""']
        assert told == greeting + ["message  0 octets, more", f'message  5 octets: "{words}"']


def test_frames_of_an_older_version_that_cannot_be_are_named(tmp_path):
    signature = b"\xff" + bytes(7) + b"\1\x7f"
    for octets, words in ((b"\1\0\0", "has no room for its flags"), (b"\1\0\5\2", "flags 0x02 are of no frame"),
                          (b"\1\0\xff" + bytes(8), "has no room for its flags"), (b"\0\0", "does not begin with 0xff"),
                          (b"\1\0\xff" + b"\xff" * 8 + b"\0", "a length beyond 2^63"), (b"\xff" + bytes(9), "it has no signature"),
                          (signature + b"\1\x08\0\0\4\2", "flags 0x04 are of no frame"), (b"\1\0\6\0abc", "ends 2 octets before")):
        assert words in told_of(tmp_path, packet(9, flags=2), packet(10, octets)), octets
    long_id = b"\xff" + bytes(6) + b"\1\2\0" + b"i" * 257
    assert 'greeting ZMTP 1.0, routing id "' + "i" * 32 in told_of(tmp_path, packet(9, flags=2), packet(10, long_id))


def test_a_signature_to_an_older_peer_has_its_routing_id_behind_it(tmp_path):
    both = [packet(9, flags=2), packet(49, flags=0x12, back=True), packet(50, b"\xff" + bytes(7) + b"\4\x7f", back=True),
            packet(10, b"\1\0"), packet(60, b"dog" + b"\4\0end", back=True)]
    said = told_of(tmp_path, *both)
    assert '< greeting ZMTP 1.0, routing id "dog"' in said and '< message  3 octets: "end"' in said


def test_the_first_fragment_of_a_segment_is_told_and_the_others_are_missing(tmp_path):
    octets = GREETING + READY + b"\0\x0ahello"

    def four(first, offset, more):
        whole = packet(10, octets)[16 + 14 + 20:]
        part = whole[first:first + 96] if more else whole[first:]
        head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(part), 1, (0x2000 if more else 0) | offset // 8, 64, 6, 0, b"\x7f\0\0\1", b"\x7f\0\0\1")
        frame = bytes(12) + b"\x08\0" + head + part
        return struct.pack("<IIII", 1, 0, len(frame), len(frame)) + frame

    after = packet(10 + len(octets) + 5, b"\0\3end")
    said = told_of(tmp_path, packet(9, flags=2), four(0, 0, True), four(96, 96, False), after)
    assert "greeting ZMTP 3.1" in said and "are missing" in said and "READY" not in said

    def six(next_headers, tcp):
        head = struct.pack(">IHBB", 6 << 28, len(next_headers) + len(tcp), 44 if next_headers else 6, 64) + bytes(15) + b"\1" + bytes(15) + b"\1"
        frame = bytes(12) + b"\x86\xdd" + head + next_headers + tcp
        return struct.pack("<IIII", 1, 0, len(frame), len(frame)) + frame

    def tcp6(sequence, body=b"", flags=0x10):
        return struct.pack(">HHIIBBHHH", 40000, 5555, sequence, 0, 0x50, flags, 1000, 0, 0) + body

    fragment = lambda offset, more: struct.pack(">BBHI", 6, 0, offset | more, 7)  # noqa: E731
    said = told_of(tmp_path, six(b"", tcp6(9, flags=2)), six(fragment(0, 1), tcp6(10, GREETING)), six(fragment(96, 0), READY),
                   six(b"", tcp6(10 + len(GREETING + READY), b"\0\3end")))
    assert "[0:0:0:0:0:0:0:1]:40000" in said and "greeting ZMTP 3.1" in said and "26 octets are missing" not in said and "are missing" in said


def test_a_relay_says_what_is_no_zmtp(start):
    with socket.create_server(("127.0.0.1", 0)) as server:
        relay = start("dump", "--relay", "tcp://127.0.0.1:*", "tcp://127.0.0.1:%d" % server.getsockname()[1], "-n", "1")
        with socket.create_connection(("127.0.0.1", int(relay.bound().rpartition(":")[2]))) as client:
            client.sendall(b"GET /")
            other, _ = server.accept()
            with other:
                assert other.recv(100) == b"GET /"
                other.sendall(GREETING + b"\x88")
                received = b""
                while len(received) < 65:
                    received += client.recv(100)
                client.shutdown(socket.SHUT_WR)
                assert other.recv(1) == b""
    said = relay.end().decode()
    assert "does not begin with 0xff" in said and "47" in said and "flags 0x88 are of no frame" in said and "closed" in said


def packet(sequence, octets=b"", flags=0x10, back=False, captured=None, port=40000):
    ports = (5555, port) if back else (port, 5555)
    tcp = struct.pack(">HHIIBBHHH", *ports, sequence, 0, 0x50, flags, 1000, 0, 0) + octets
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0, b"\x7f\0\0\1", b"\x7f\0\0\1") + tcp
    frame = bytes(12) + b"\x08\0" + ip
    cut = frame if captured is None else frame[:54 + captured]
    return struct.pack("<IIII", 1, 500000, len(cut), len(frame)) + cut


def capture(tmp_path, *packets):
    path = tmp_path / "x.pcap"
    path.write_bytes(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(packets))
    return path


def told_of(tmp_path, *packets):
    return run("dump", capture(tmp_path, *packets)).decode()


def test_a_capture_is_put_in_order(tmp_path):
    start = 0xFFFFFFF0  # the numbers go round
    octets = GREETING + READY + b"\0\5hello" + b"\0\5again"
    at = lambda first, last: packet((start + 1 + first) & 0xFFFFFFFF, octets[first:last])  # noqa: E731
    said = told_of(tmp_path, packet(start, flags=2), at(0, 70), at(90, len(octets)), at(60, 80), at(80, 95), at(0, 70))
    assert "127.0.0.1:40000 to 127.0.0.1:5555" in said and "missing" not in said
    assert 'READY: Socket-Type "PUSH"' in said and said.count('message  5 octets: "hello"') == 1 and said.endswith('"again"\n')


def test_octets_that_are_missing_are_named(tmp_path):
    octets = GREETING + READY + b"\0\x0ahello"
    begin = [packet(9, flags=2), packet(10, octets)]
    after = 10 + len(octets)
    assert "message  10 octets, of which octets are missing" in told_of(tmp_path, *begin, packet(after + 5, b"\0\3end"))
    assert 'message  3 octets: "end"' in told_of(tmp_path, *begin, packet(after, b"12345", captured=2), packet(after + 5, b"\0\3end"))
    assert "7 octets are missing, and with them where the next frame begins" in told_of(tmp_path, *begin, packet(after + 7, b"\0\3end"))
    assert "ends 5 octets before the end of a frame of 10" in told_of(tmp_path, *begin)
    assert "the capture begins within the connection" in told_of(tmp_path, packet(10, b"hello"))


PASSWORD = b"Z" * 20
HELLO = GREETING.replace(b"NULL\0", b"PLAIN") + b"\4\x20\5HELLO\5admin\x14" + PASSWORD


@pytest.mark.parametrize("form", ["quoted", "hex", "json"])
def test_no_password_is_shown_whatever_is_missing(tmp_path, form):
    packets, gaps = [], 0
    for first in range(0, len(HELLO) - 5, 3):
        for last in range(first, len(HELLO) - 5, 2):
            gaps += 1
            port = 1000 + gaps
            if first > 0 or gaps % 2:
                packets.append(packet(9, flags=2, port=port))
            half = (last + len(HELLO)) // 2
            packets += [packet(10 + at, HELLO[at:end], port=port) for at, end in ((0, first), (last, half), (half, len(HELLO))) if at < end]
    said = run("dump", "-f", form, capture(tmp_path, *packets)).decode()
    assert 700 < gaps < 1000 and said.count("a password may be among them") > gaps / 4
    for shown in ("ZZ", "5a5a", "5a 5a"):
        assert shown not in said
    said = run("dump", "-f", form, "--show-secrets", capture(tmp_path, *packets)).decode()
    assert "ZZ" in said or "5a5a" in said or "5a 5a" in said


@pytest.mark.parametrize("form", ["quoted", "hex", "json"])
def test_no_password_is_shown_that_goes_over_websocket(tmp_path, form):
    def said(protocol, *flags):
        request = b"GET / HTTP/1.1\r\nSec-WebSocket-Protocol: " + protocol + b"\r\n\r\n"
        hello = b"\x82\xa1" + b"\1" * 4 + bytes(each ^ 1 for each in b"\2" + HELLO[66:])  # masked
        octets = capture(tmp_path, packet(9, flags=2), packet(10, request), packet(10 + len(request), hello))
        return run("dump", "-f", form, *flags, octets).decode().replace(" ", "")

    assert "5b5b" in said(b"ZWS2.0/NULL") and "5b5b" in said(b"ZWS2.0/PLAIN", "--show-secrets")
    told = said(b"ZWS2.0/PLAIN")
    assert "5b5b" not in told and "[[" not in told and "apasswordmaybeamongthem" in told


def test_what_is_no_capture_is_refused(tmp_path, free_port):
    (tmp_path / "x").write_bytes(b"nonsense" * 10)
    run("dump", tmp_path / "x", status=6)
    run("dump", tmp_path / "none", status=1)
    whole = capture(tmp_path, packet(9, flags=2)).read_bytes()
    (tmp_path / "x").write_bytes(whole[:-1])
    run("dump", tmp_path / "x", status=6)
    run("dump", "--relay", free_port, status=2)
    run("dump", "--relay", "inproc://x", free_port, status=2)
    run("dump", "--relay", "tcp://192.0.2.1:1", free_port, status=4)


def test_why_a_file_cannot_be_read_is_told(tmp_path):
    run("dump", tmp_path / "none.pcap", status=1)
    assert "none.pcap: No such file or directory" in run.err
    run("dump", tmp_path, status=1)
    assert "Is a directory" in run.err
    somebody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        sealed = pathlib.Path(folder) / "sealed.pcap"
        sealed.touch(mode=0)
        run("dump", sealed, status=1, **somebody)
    assert "Permission denied" in run.err
