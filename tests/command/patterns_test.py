"""zlink cat and its short forms, against libzmq."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import resource
import signal
import socket
import struct
import subprocess
import termios
import threading
import time

import pytest
import zmq
from conftest import COMMAND, LIMIT, run

ROOT = pathlib.Path(__file__).parents[2]


def test_the_library_at_the_other_end_is_libzmq():
    assert not zmq.has("tls")


def is_draining(process):
    """Whether it has its threads, and listens to signals no more: what was queued goes out."""
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as status:
        text = status.read()
    mask = int(re.search(r"SigBlk:\s*(\w+)", text).group(1), 16)
    return int(re.search(r"Threads:\s*(\d+)", text).group(1)) > 1 and mask & 1 << signal.SIGTERM - 1 == 0


@pytest.fixture
def sleeper(peer):
    """The address of a PULL that reads nothing."""
    pull = peer(zmq.PULL)
    pull.socket.rcvhwm, pull.socket.rcvbuf = 1, 4096
    return pull.bind()


def push_to(start, where, number, count):
    """Messages of 100 kB, which wait; the signal does what it does to others, but for files."""

    def begin():
        signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return start("push", where, "-m", "x" * 100000, "-n", str(count), "-v", preexec_fn=begin)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_what_was_queued_has_a_second_after_a_signal_and_none_after_two(start, sleeper, number):
    def end(is_repeated):
        push = push_to(start, sleeper, number, 1000000)
        push.until("connected")
        push.process.send_signal(number)
        while is_repeated and push.process.poll() is None and not is_draining(push.process):
            pass
        if is_repeated:
            push.process.send_signal(number)
        push.process.communicate(timeout=LIMIT)
        return push.process.returncode

    assert end(False) == 130
    assert -number in (end(True) for _ in range(10))  # the second may be over by then where the machine is busy


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_ends_one_that_has_sent_all_and_waits_for_it_to_go_out(start, sleeper, number):
    push = push_to(start, sleeper, number, 200)
    while not is_draining(push.process):
        assert push.process.poll() is None
    push.process.send_signal(number)
    push.end(status=-number)


@pytest.mark.parametrize("command", ["echo begun >&2; sleep 1000", "trap '' TERM; echo begun >&2; sleep 1000; sleep 1000",
                                     "exec >&-; echo begun >&2; sleep 1000", "sleep 1000 & echo begun >&2; wait",
                                     "setsid sh -c 'echo begun >&2; sleep 1000' & wait", "trap '' TERM; echo begun >&2; while :; do echo x; done"])
def test_a_signal_ends_a_command_that_hangs(peer, start, command):
    rep = start("rep", "tcp://127.0.0.1:*", "-v", "--command", command)
    req = peer(zmq.REQ).socket
    req.connect(rep.bound())
    req.send(b"x")
    rep.until("begun")
    rep.process.send_signal(signal.SIGTERM)
    rep.end(status=130)  # whoever lived on would hold its stderr


@pytest.fixture
def at_terminal(start):
    """A replier whose controlling terminal is the other end of this."""
    master, slave = pty.openpty()

    def begin(command):
        def take_terminal():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        return start("rep", "tcp://127.0.0.1:*", "-v", "--command", command, preexec_fn=take_terminal), master

    yield begin
    os.close(slave)
    os.close(master)


def test_a_command_may_read_from_the_terminal(peer, at_terminal):
    rep, terminal = at_terminal("head -n 1 </dev/tty")
    req = peer(zmq.REQ).socket
    req.connect(rep.bound())
    req.send(b"how are you?")
    os.write(terminal, b"well\n")
    assert req.recv() == b"well"


@pytest.mark.parametrize("how", ["^C", "SIGTERM"])
def test_a_command_at_a_terminal_is_ended_with_what_it_has_begun(peer, at_terminal, how):
    rep, terminal = at_terminal("trap '' INT TERM HUP; sleep 1000 & echo begun >&2; wait")
    req = peer(zmq.REQ).socket
    req.connect(rep.bound())
    req.send(b"x")
    rep.until("begun")
    if how == "^C":
        os.write(terminal, b"\x03")
    else:
        rep.process.send_signal(signal.SIGTERM)
    rep.end(status=130)  # whoever lived on would hold its stderr


def test_push_sends_the_lines_of_stdin(peer):
    pull = peer(zmq.PULL)
    run("push", pull.bind(), octets=b"a\n\nlast without a newline")
    assert [pull.socket.recv() for _ in range(3)] == [b"a", b"", b"last without a newline"]


def test_push_sends_messages_of_the_command_line(peer):
    pull = peer(zmq.PULL)
    run("push", pull.bind(), "-m", "a", "-m", "b", "-n", "3")
    assert [pull.socket.recv() for _ in range(3)] == [b"a", b"b", b"a"]


def test_pull_writes_a_line_a_message_and_ends_after_its_count(peer, start):
    pull = start("pull", "tcp://127.0.0.1:*", "-v", "-n", "2")
    push = peer(zmq.PUSH)
    push.socket.connect(pull.bound())
    push.socket.send(b"one")
    push.socket.send_multipart([b"two", b"parts"])
    assert pull.end() == b"one\ntwo\tparts\n"


@pytest.mark.parametrize("flags, written", [
    (["-f", "raw"], b"a\"b\xff"),
    (["-f", "raw", "-0"], b"a\"b\xff\0"),
    (["-f", "quoted"], b'"a\\"" "b\\xff"\n'),
    (["-f", "hex"], b"6122 62ff\n"),
    (["-f", "line", "--separator", ","], b'a",b\xff\n'),
    (["-F", "%n %t %l %x %%"], b'2 a" 2 62ff %\n'),
    (["-0", "-F", r"%p\n"], b"b\xff\n\0"),
])
def test_formats(peer, start, flags, written):
    pull = start("pull", "tcp://127.0.0.1:*", "-v", "-n", "1", *flags)
    push = peer(zmq.PUSH)
    push.socket.connect(pull.bound())
    push.socket.send_multipart([b'a"', b"b\xff"])
    assert pull.end() == written


def of_msgpack(octets):
    """The values that the command writes, one behind the other, as msgpack's spec.md has them."""
    at = 0

    def take(size):
        nonlocal at
        at += size
        assert at <= len(octets)
        return octets[at - size:at]

    def number(size):
        return int.from_bytes(take(size), "big")

    def value():
        head = number(1)
        if head == 0xcb:
            return struct.unpack(">d", take(8))[0]
        if head in (0xc4, 0xc5, 0xc6):
            return take(number(1 << head - 0xc4))
        if head & 0xe0 == 0xa0 or head in (0xd9, 0xda, 0xdb):
            return take(head & 31 if head < 0xc0 else number(1 << head - 0xd9)).decode()
        if head & 0xf0 == 0x90 or head in (0xdc, 0xdd):
            return [value() for _ in range(head & 15 if head < 0xa0 else number(2 << head - 0xdc))]
        assert head & 0xf0 == 0x80, hex(head)
        return {value(): value() for _ in range(head & 15)}

    while at < len(octets):
        yield value()


@pytest.mark.parametrize("parts", [[b"plain", b"a" * 31, b"b" * 32, b"c" * 255, b"d" * 256, b"e" * 65535, b"f" * 65536], [b"\xff" * 255, b"\0" * 256, b"\xc1" * 65536],
                                   [b"%d" % number for number in range(16)], [b"x"] * 15, [b""]])
def test_msgpack_has_the_keys_of_json_and_the_parts_as_they_are(peer, start, parts):
    push = peer(zmq.PUSH)
    endpoint = push.bind()
    pull = start("pull", "-c", endpoint, "-n", "2", "-f", "msgpack")
    for _ in range(2):
        push.socket.send_multipart(parts)
    written = pull.end()
    is_text = b"\xff" not in parts[0]
    for said in (told := list(of_msgpack(written))):
        assert list(said) == ["ts", "ep", "peer", "parts", "enc"]
        assert said["ts"] > 1e9 and said["ep"] == endpoint and said["peer"] == "127.0.0.1"
        assert said["parts"] == ([part.decode() for part in parts] if is_text else parts) and said["enc"] == ("utf8" if is_text else "binary")
    assert len(told) == 2
    sink = peer(zmq.PULL)
    run("push", sink.bind(), "-f", "msgpack", octets=written)
    assert [sink.socket.recv_multipart() for _ in range(2)] == [parts, parts]


@pytest.mark.parametrize("form", ["json", "msgpack"])
def test_an_object_takes_a_reply_back_to_its_router_id(peer, start, form):
    router = start("router", "tcp://127.0.0.1:*", "-v", "-n", "1", "-f", form, stdin=subprocess.PIPE)
    dealer = peer(zmq.DEALER)
    dealer.socket.routing_id = b"\xff\0"
    dealer.socket.connect(router.bound())
    dealer.socket.send_multipart([b"and", b"back"])
    written = router.process.stdout.read()
    assert (json.loads(written) if form == "json" else next(of_msgpack(written)))["id"] == "0xff00"
    router.end()
    answering = start("router", "tcp://127.0.0.1:*", "-v", "-f", form, stdin=subprocess.PIPE)
    dealer.socket.connect(answering.bound())
    answering.until("the peer is there")
    answering.process.stdin.write(written)
    answering.process.stdin.flush()
    assert dealer.socket.recv_multipart() == [b"and", b"back"]


@pytest.mark.parametrize("octets", [b"\x81\xa5parts\x91", b"\xc1", b"\x90", b"\x80", b"\x81\xa5parts\xa1x", b"\x91" * 100 + b"\xc0", b"\xde\xff\xff\xa1"])
def test_input_that_is_no_msgpack_is_a_fault_of_usage(peer, octets):
    run("push", peer(zmq.PULL).bind(), "-f", "msgpack", octets=octets, status=2)


@pytest.mark.parametrize("flags, about", [(["-0"], "--null"), (["-F", "%p"], "--template")])
def test_flags_that_msgpack_has_no_use_for_are_a_fault_of_usage(flags, about):
    run("pull", "ipc://nobody", "-f", "msgpack", *flags, status=2)
    assert about in run.err


def test_input_that_is_no_msgpack_may_end_with_a_nul(peer):
    pull = peer(zmq.PULL)
    run("push", pull.bind(), "-f", "msgpack", "--input", "line", "-0", octets=b"a\nb\0c\0")
    assert [pull.socket.recv() for _ in range(2)] == [b"a\nb", b"c"]


def test_msgpack_of_others_is_read_with_whatever_else_it_has(peer):
    pull = peer(zmq.PULL)
    others = (b"\xde\0\x0a" + b"\xa1a\xcd\1\2" + b"\xa1b\xd6\1abcd" + b"\xa1c\xca\0\0\0\0" + b"\xa1d\xc0" + b"\xa1e\x82\1\xff\xc2\xc3" + b"\xa1f\xc7\3\1abc"
              + b"\xa1g\xd3\0\0\0\0\0\0\0\1" + b"\xa1h\xdd\0\0\0\1\7" + b"\xa5parts\xdc\0\2\xd9\4YWI=\xc4\0" + b"\xa3enc\xa6base64")
    run("push", pull.bind(), "-f", "msgpack", octets=others)
    assert pull.socket.recv_multipart() == [b"ab", b""]


@pytest.mark.parametrize("parts", [[b"plain", "z\u00fcrich \u20ac \U0001f600".encode(), b'"\\\n\t\x01'], [b"\xff\0", b""], [b""]])
@pytest.mark.parametrize("form", ["json", "quoted", "hex", "msgpack"])
def test_what_a_format_writes_it_reads(peer, start, form, parts):
    pull = start("pull", "tcp://127.0.0.1:*", "-v", "-n", "1", "-f", form)
    push = peer(zmq.PUSH)
    push.socket.connect(pull.bound())
    push.socket.send_multipart(parts)
    written = pull.end()
    if form == "json":
        said = json.loads(written)
        assert said["enc"] in ("utf8", "base64") and said["ts"] > 0 and said["peer"] == "127.0.0.1"
    sink = peer(zmq.PULL)
    run("push", sink.bind(), "-f", form, octets=written)
    assert sink.socket.recv_multipart() == parts


def test_raw_input_is_one_message(peer):
    pull = peer(zmq.PULL)
    run("push", pull.bind(), "-f", "raw", octets=b"a\nb\n")
    assert pull.socket.recv() == b"a\nb\n"


def test_a_separator_cuts_a_line_into_parts(peer):
    pull = peer(zmq.PULL)
    run("push", pull.bind(), "--separator", ",", octets=b"a,b\n")
    assert pull.socket.recv_multipart() == [b"a", b"b"]


def test_input_that_is_no_json_is_a_fault_of_usage(peer):
    run("push", peer(zmq.PULL).bind(), "-f", "json", octets=b"{\n", status=2)


def test_a_plain_question_is_answered_as_json(peer, start):
    rep = peer(zmq.REP)
    req = start("req", rep.bind(), "-m", "hi", "-m", '{"parts":["a","b"]}', "-f", "json")
    for asked in ([b"hi"], [b"a", b"b"]):
        assert rep.socket.recv_multipart() == asked
        rep.socket.send(b"yes")
    assert [json.loads(line)["parts"] for line in req.end().splitlines()] == [["yes"]] * 2
    run("req", rep.bind(), "-m", '{"parts"', "-f", "json", status=2)


def test_what_is_sent_may_have_a_format_of_its_own(peer, start):
    rep = peer(zmq.REP)
    endpoint = rep.bind()
    req = start("req", endpoint, "-f", "json", "--input", "line", "-m", '{"x":1}')
    assert rep.socket.recv() == b'{"x":1}'
    rep.socket.send(b"yes")
    assert json.loads(req.end())["parts"] == ["yes"]
    req = start("req", endpoint, "--input", "quoted", stdin=subprocess.PIPE)
    req.process.stdin.write(b'"a" "b\\n"\n')
    req.process.stdin.flush()
    assert rep.socket.recv_multipart() == [b"a", b"b\n"]
    rep.socket.send(b"yes")
    assert req.end() == b"yes\n"


def test_json_tells_the_endpoint_and_the_topic(peer, start):
    pub = peer(zmq.XPUB)
    endpoint = pub.bind()
    sub = start("sub", endpoint, "-n", "2", "-f", "json")
    assert pub.socket.recv() == b"\1"
    pub.socket.send_multipart([b"news", b"rain"])
    pub.socket.send_multipart([b"\xff", b"x"])
    first, second = (json.loads(line) for line in sub.end().splitlines())
    assert (first["ep"], first["topic"], first["parts"]) == (endpoint, "news", ["news", "rain"])
    assert (second["enc"], second["topic"], second["parts"]) == ("base64", "/w==", ["/w==", "eA=="])


@pytest.mark.parametrize("is_bound", [False, True])
def test_json_tells_which_of_several_endpoints_a_message_came_by(peer, start, is_bound, tmp_path):
    addresses = [f"ipc://{tmp_path}/a", f"ipc://{tmp_path}/b"]
    pushes = [peer(zmq.PUSH) for _ in addresses]
    if not is_bound:
        for push, address in zip(pushes, addresses):
            push.bind(address)
    pull = start("pull", *(("@" if is_bound else ">") + address for address in addresses), "-v", "-n", "40", "-f", "json")
    if is_bound:
        for push, address in zip(pushes, addresses):
            push.socket.connect(address)
    for _ in range(20):
        for push, address in zip(pushes, addresses):
            push.socket.send(address.encode())
    for line in pull.end().splitlines():
        said = json.loads(line)
        assert said["parts"] == [said["ep"]] and "topic" not in said


def test_pub_waits_for_its_subscribers(peer, start):
    pub = start("pub", "tcp://127.0.0.1:*", "-v", "-t", "news", "-m", "first", "--ready", "2")
    endpoint = pub.bound()
    subs = [peer(zmq.SUB), peer(zmq.SUB)]
    for sub in subs:
        sub.socket.subscribe(b"")
        sub.socket.connect(endpoint)
    for sub in subs:
        assert sub.socket.recv_multipart() == [b"news", b"first"]
    pub.end()


def test_pub_gives_up_where_nobody_subscribes():
    run("pub", "tcp://127.0.0.1:*", "-m", "x", "-W", "0.1", status=3)
    run("pub", "tcp://127.0.0.1:*", "-m", "x", "--ready", "0")


def test_sub_takes_what_its_topics_say(peer, start):
    pub = peer(zmq.XPUB)
    sub = start("sub", pub.bind(), "-t", "a", "-t", "b", "-n", "2")
    assert sorted(pub.socket.recv() for _ in range(2)) == [b"\1a", b"\1b"]
    for body in (b"a1", b"c1", b"b1"):
        pub.socket.send(body)
    assert sub.end() == b"a1\nb1\n"


def test_req_prints_each_reply(peer, start):
    rep = peer(zmq.REP)
    req = start("req", rep.bind(), "-m", "one", "-m", "two")
    for _ in range(2):
        rep.socket.send(rep.socket.recv().upper())
    assert req.end() == b"ONE\nTWO\n"


def test_req_without_an_answer_is_a_time_out(peer):
    rep = peer(zmq.REP)
    run("req", rep.bind(), "-m", "x", "-W", "0.2", status=3)


def test_req_whose_peer_goes_ends(peer, start):
    rep = peer(zmq.REP)
    req = start("req", rep.bind(), "-m", "x")
    rep.socket.recv()
    rep.socket.close()
    req.end(status=7)


@pytest.mark.parametrize("flags, reply", [(["--echo"], b"Hi\n"), (["--command", "tr a-z A-Z"], b"HI\n"), (["-m", "fixed"], b"fixed")])
def test_rep_answers(peer, start, flags, reply):
    rep = start("rep", "tcp://127.0.0.1:*", "-v", "-n", "2", *flags)
    req = peer(zmq.REQ)
    req.socket.connect(rep.bound())
    for _ in range(2):
        req.socket.send(b"Hi\n")
        assert req.socket.recv() == (b"HI" if "--command" in flags else reply)
    rep.end()


def test_rep_leaves_the_answer_to_stdin(peer, start):
    rep = start("rep", "tcp://127.0.0.1:*", "-v", "-n", "1", stdin=subprocess.PIPE)
    req = peer(zmq.REQ)
    req.socket.connect(rep.bound())
    req.socket.send(b"question")
    assert rep.line() == b"question\n"
    rep.process.stdin.write(b"answer\n")
    rep.process.stdin.flush()
    assert req.socket.recv() == b"answer"
    rep.end()


def test_router_prints_routing_ids_and_takes_them_back(peer, start):
    router = start("router", "tcp://127.0.0.1:*", "-v", stdin=subprocess.PIPE)
    endpoint = router.bound()
    for name, printed in ((b"alice", b"alice"), (b"\1\2", b"0x0102")):
        dealer = peer(zmq.DEALER)
        dealer.socket.routing_id = name
        dealer.socket.connect(endpoint)
        dealer.socket.send(b"hello")
        assert router.line() == printed + b"\thello\n"
        router.process.stdin.write(printed + b"\tback\n")
        router.process.stdin.flush()
        assert dealer.socket.recv() == b"back"


def test_dealer_talks_to_rep_with_a_delimiter(peer, start):
    rep = peer(zmq.REP)
    dealer = start("dealer", rep.bind(), "--delimiter", "-m", "hi", "-n", "1")
    rep.socket.send(rep.socket.recv())
    assert dealer.end() == b"hi\n"


def test_pair_goes_both_ways_and_ends_with_its_peer(peer, start):
    other = peer(zmq.PAIR)
    pair = start("pair", other.bind(), "-E", stdin=subprocess.PIPE)
    pair.process.stdin.write(b"to you\n")
    pair.process.stdin.flush()
    assert other.socket.recv() == b"to you"
    other.socket.linger = -1
    other.socket.send(b"to me")
    assert pair.line() == b"to me\n"
    other.socket.close()
    pair.end()


def test_cat_is_any_type(peer, start):
    pull = peer(zmq.PULL)
    run("cat", "push", pull.bind(), octets=b"x\n")
    assert pull.socket.recv() == b"x"
    xpub = start("cat", "XPUB", "@tcp://127.0.0.1:*", "-v", "-n", "1", "-f", "hex")
    sub = peer(zmq.SUB)
    sub.socket.connect(xpub.bound())
    sub.socket.subscribe(b"a")
    assert xpub.end() == b"0161\n"


def test_endpoints_are_bound_and_connected_by_their_marks_and_by_flags(peer, start):
    push = peer(zmq.PUSH)
    pull = start("pull", ">" + push.bind(), "-n", "1")
    push.socket.send(b"connected")
    assert pull.end() == b"connected\n"
    pull = start("pull", "-b", "tcp://127.0.0.1:*", "-v", "-n", "1")
    run("push", "-c", pull.bound(), "-m", "by a flag")
    assert pull.end() == b"by a flag\n"


def test_every_option_of_the_header_is_known_by_its_name():
    header = (ROOT / "include/zmq.h").read_text(encoding="utf-8")
    options = header[header.index("/* Socket options; the numbers"):header.index("/* Flags of the send and receive")]
    drafts = header[header.index("/* TLS options, as libzmq's drafts"):]
    expected = {}
    kinds = {"int": "number", "int64": "number", "uint64": "number", "bool": "on or off", "string": "text", "key": "key in Z85",
             "octets": "text, or 0x and hexadecimal"}
    for name, kind, rest in re.findall(r"^#define ZMQ_(\w+) +(?:0x\w+|\d+) +/\* (\w+)([^*]*)\*/", options + drafts, re.M):
        rest = " ".join(rest.split())
        if kind in kinds and "read only" not in rest and ": of contexts" not in rest:
            expected[name.lower()] = kinds[kind]
    listed = dict(re.split(r" {2,}| (?=number|on or|text|key)", line, maxsplit=1) for line in run("help", "options").decode().splitlines())
    assert listed == expected and len(expected) > 90


def test_options_are_set_by_any_spelling_of_their_names(peer, start):
    dealer = peer(zmq.ROUTER)
    endpoint = dealer.bind()
    for assignment, name in (("routing-id=me", b"me"), ("ZMQ_ROUTING_ID=0x796f75", b"you"), ("routing_id=them", b"them")):
        asked = start("dealer", endpoint, "-o", assignment, "-o", "ipv6=on", "-m", "x")
        assert dealer.socket.recv_multipart() == [name, b"x"]
        asked.process.send_signal(signal.SIGINT)
        asked.end(status=130)


@pytest.mark.parametrize("assignment", ["nothing=1", "sndhwm", "sndhwm=x", "sndhwm=-5", "sndhwm=99999999999"])
def test_an_option_that_is_none_is_a_fault_of_usage(assignment):
    run("pull", "tcp://127.0.0.1:*", "-o", assignment, status=2)


@pytest.mark.parametrize("assignment", ["curve_secretkey=hunter2", "plain_password=" + 50 * "hunter2", "sndhwm=hunter2", "hunter2", "sndhwm=9999999999999"])
def test_the_value_of_an_option_is_not_told(assignment):
    run("pull", "tcp://127.0.0.1:*", "-o", assignment, status=2)
    assert "hunter2" not in run.err and "9999" not in run.err and assignment.split("=")[0] in run.err.replace("NAME=VALUE", "hunter2")


@pytest.mark.parametrize("flag", ["--cert", "--key", "--ca", "--curve-server-key", "--curve-cert", "--username", "--password"])
def test_what_is_to_protect_and_is_empty_is_refused(peer, flag):
    endpoint = peer(zmq.PULL).bind()
    run("push", endpoint, "-m", "in clear", flag, "", status=2)
    assert f"{flag} is empty" in run.err
    variable = "ZLINK" + flag[1:].upper().replace("-", "_")
    run("push", endpoint, "-m", "in clear", status=2, env=dict(os.environ, **{variable: ""}))
    assert f"{variable} is empty" in run.err


def test_an_empty_variable_is_no_harm_where_a_flag_says_more(peer):
    public, secret = zmq.curve_keypair()
    pull = peer(zmq.PULL)
    pull.socket.curve_secretkey = secret
    pull.socket.curve_server = True
    run("push", pull.bind(), "-m", "sealed", "--curve-server-key", public.decode(), env=dict(os.environ, ZLINK_CURVE_SERVER_KEY=""))
    assert pull.socket.recv() == b"sealed"


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["pull"], ["pull", ""], ["sub", "tcp://h:1", "--nothing"], ["sub", "tcp://h:1", "-W", "soon"],
                                       ["sub", "somewhere"], ["sub", "tcp://127.0.0.1:99999"], ["cat", "nothing", "tcp://h:1"],
                                       ["sub", "tcp://h:1", "--password", "x"], ["help", "nothing"]])
def test_faults_of_usage(arguments):
    run(*arguments, status=2)


def test_an_address_in_use_cannot_be_bound(peer):
    run("pull", peer(zmq.PULL).bind(), status=4)
    assert "in use" in run.err


def test_nobody_at_the_other_end_is_told_from_nothing_came(peer, free_port):
    run("sub", free_port, "-W", "3", status=4)
    assert "refuses connections" in run.err
    run("push", free_port, "-m", "x", "-W", "3", status=4)
    run("sub", peer(zmq.XPUB).bind(), "-W", "0.2", status=3)


def test_a_stranger_who_goes_is_no_peer_who_goes(peer, start):
    pull = start("pull", "tcp://127.0.0.1:*", "-v", "-E", "-n", "2")
    endpoint = pull.bound()
    push = peer(zmq.PUSH)
    push.socket.connect(endpoint)
    push.socket.send(b"one")
    assert pull.line() == b"one\n"
    for _ in range(2):
        with socket.create_connection(endpoint[len("tcp://"):].split(":"), timeout=LIMIT) as stranger, contextlib.suppress(ConnectionError):
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
            while stranger.recv(1000):
                pass
        pull.until("the handshake has failed")
        pull.until("the peer has gone")
    push.socket.send(b"two")
    assert pull.end() == b"two\n"


def test_a_publisher_whose_subscriber_lags_waits_and_gives_up(peer, start):
    pub = start("pub", "tcp://127.0.0.1:*", "-v", "-m", "x" * 100000, "-n", "100000", "-W", "2", "-o", "sndhwm=1")
    sub = peer(zmq.SUB)
    sub.socket.rcvhwm = 1
    sub.socket.subscribe(b"")
    sub.socket.connect(pub.bound())
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    pub.end(status=8)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1  # of the two seconds that it waits


@pytest.mark.parametrize("arguments, status", [(["cat", "stream", "-b"], 3), (["cat", "stream", "-n", "1", "-b"], 3), (["pull"], 6)])
def test_strangers_who_come_and_go_for_ever_do_not_put_off_the_end_of_the_time(start, arguments, status):
    """A STREAM is told of each of them; a PULL, of handshakes that fail, which is why nothing has come."""
    waiting = start(*arguments, "tcp://127.0.0.1:*", "-v", "-W", "0.3", stdout=subprocess.DEVNULL)
    where = waiting.bound()[len("tcp://"):].split(":")
    said = []
    reader = threading.Thread(target=lambda: said.extend(waiting.process.stderr))  # so that it never waits for room there
    reader.start()
    begin = time.monotonic()
    while waiting.process.poll() is None and time.monotonic() - begin < LIMIT:
        with contextlib.suppress(ConnectionError), socket.create_connection(where, timeout=LIMIT) as stranger:
            stranger.shutdown(socket.SHUT_WR)
            while stranger.recv(1000):  # until it was let in, and has been seen to go
                pass
    if waiting.process.poll() is None:
        waiting.process.kill()
    reader.join()
    assert waiting.process.wait() == status, said[-3:]


def test_a_stream_tells_who_comes_and_goes_and_counts_what_they_say(start):
    stream = start("cat", "stream", "-b", "tcp://127.0.0.1:*", "-v", "-n", "1", "-f", "hex")
    where = stream.bound()[len("tcp://"):].split(":")
    with socket.create_connection(where, timeout=LIMIT):
        came = stream.line().split()
    assert came[1] == b'""' and stream.line().split() == came  # it went
    with socket.create_connection(where, timeout=LIMIT) as talker:
        talker.sendall(b"said")
        lines = stream.end().splitlines()
    assert lines[0].endswith(b' ""') and lines[1].endswith(b" " + b"said".hex().encode())


def test_fewer_than_asked_for_is_told_from_nothing(peer, start):
    push = peer(zmq.PUSH)
    pull = start("pull", ">" + push.bind(), "-n", "3", "-W", "3")
    push.socket.send(b"only")
    assert pull.end(status=8) == b"only\n"


def test_a_type_that_does_not_fit_ends_it(peer):
    run("push", peer(zmq.PUB).bind(), "-m", "x", status=6)
    assert "does not talk to a PUSH" in run.err


def test_a_peer_that_asks_for_curve_refuses(peer):
    pull = peer(zmq.PULL)
    pull.socket.curve_secretkey = zmq.curve_keypair()[1]
    pull.socket.curve_server = True
    run("push", pull.bind(), "-m", "x", status=5)


def test_curve_with_keys(peer):
    public, secret = zmq.curve_keypair()
    pull = peer(zmq.PULL)
    pull.socket.curve_secretkey = secret
    pull.socket.curve_server = True
    endpoint = pull.bind()
    run("push", endpoint, "-m", "sealed", "--curve-server-key", public.decode())
    assert pull.socket.recv() == b"sealed"
    run("push", endpoint, "-m", "x", "--curve-server-key", zmq.curve_keypair()[0].decode(), "-W", "5", status=5)


def test_plain_with_a_name(peer):
    from zmq.auth.thread import ThreadAuthenticator

    pull = peer(zmq.PULL)
    authenticator = ThreadAuthenticator(pull.socket.context)
    authenticator.start()
    try:
        authenticator.configure_plain(domain="*", passwords={"alice": "secret"})
        pull.socket.plain_server = True
        endpoint = pull.bind()
        run("push", endpoint, "-m", "named", "--username", "alice", env=dict(os.environ, ZLINK_PASSWORD="secret"))
        assert pull.socket.recv() == b"named"
        run("push", endpoint, "-m", "x", "--username", "alice", "--password", "wrong", "-W", "5", status=5)
    finally:
        authenticator.stop()


@pytest.mark.parametrize("flags", [[], ["-F", "%i %t %p"], ["-f", "json"], ["-f", "quoted"]])
def test_no_control_of_a_peer_reaches_a_terminal(peer, start, flags):
    master, slave = pty.openpty()
    router = start("router", "tcp://127.0.0.1:*", "-v", "-n", "1", *flags, stdout=slave)
    dealer = peer(zmq.DEALER)
    dealer.socket.routing_id = "id\u009b2J".encode()
    dealer.socket.connect(router.bound())
    dealer.socket.send_multipart(["a\u009b2J".encode(), b"b\x9b\x1b[2J", "z\u00fc\u0085".encode()][:2 if flags else 3])
    router.end()
    os.close(slave)
    said = os.read(master, 10000)
    os.close(master)
    assert said and not re.search(rb"\xc2[\x80-\x9f]|\x1b", said), said
    assert b"z\xc3\xbc" in said or flags


def test_sigint_ends_it_with_130_and_what_was_received_is_written(peer, start):
    push = peer(zmq.PUSH)
    pull = start("pull", ">" + push.bind())
    push.socket.send(b"got")
    assert pull.line() == b"got\n"  # flushed, for nothing more was there
    pull.process.send_signal(signal.SIGINT)
    pull.end(status=130)


def test_a_reader_that_goes_ends_it_quietly(peer, start):
    push = peer(zmq.PUSH)
    reader, writer = os.pipe()
    pull = start("pull", ">" + push.bind(), stdout=writer)
    os.close(writer)
    os.close(reader)
    push.socket.send(b"to nobody")
    err = pull.process.communicate()[1]
    assert (pull.process.returncode, err) == (-signal.SIGPIPE, b"")


def test_a_hundred_thousand_lines_arrive_in_order(peer, start):
    pull = start("pull", "tcp://127.0.0.1:*", "-v", "-n", "100000")
    lines = b"".join(b"%d\n" % number for number in range(100000))
    sender = start("push", pull.bound(), stdin=subprocess.PIPE)
    sender.process.stdin.write(lines)
    sender.process.stdin.close()
    sender.process.stdin = None
    assert pull.end() == lines
    sender.end()


def test_version_and_help():
    assert run("version").startswith(b"zlink ") and run("version") == run("--version")
    assert b"push" in run("help") and b"--ready" in run("help", "pub") and COMMAND
