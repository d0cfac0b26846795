"""tls:// against OpenSSL's own programs and Python's ssl, with the certificates that docs/secure.md makes.

ZLINK_LIBRARY_DIR says where the library is.
"""

import os
import pathlib
import shutil
import socket
import subprocess
import threading
import time

import pytest

from bare_socket import PAIR, PATIENCE, PULL, PUSH, STREAM, TLS_CA, TLS_CERT, TLS_KEY, TLS_REQUIRE_CLIENT_CERT, zmq
from conftest import GUIDE, blocks_of_the_guide, do_as_the_guide_says
from served import called_by, client_of_pythons_ssl, server_of_pythons_ssl
from zmtp_octets import frame, greeting, ready

pytestmark = pytest.mark.skipif(zmq.zmq_has(b"tls") != 1, reason="built without TLS")


def server(context, files, kind, requires_certificates=False):
    made = context(kind)
    made.set(TLS_CERT, files / "server.pem")
    made.set(TLS_KEY, files / "server.key")
    if requires_certificates:
        made.set(TLS_CA, files / "ca.pem")
        made.set(TLS_REQUIRE_CLIENT_CERT, 1)
    return made, int(made.bind("tls://127.0.0.1:*").rsplit(":", 1)[1])


def read(stream, count):
    octets = b""
    while len(octets) < count:
        more = stream.recv(count - len(octets))
        assert more, f"ended after {octets!r}"
        octets += more
    return octets


def s_client(files, port, *more, errors=subprocess.DEVNULL):
    """OpenSSL's client at that port."""
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-CAfile", files / "ca.pem", *more]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)


def free_port():
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return trial.getsockname()[1]


def wait_for_listener(port):
    """Without connecting to it, which it would have words for."""
    wanted, end = f":{port:04X} 00000000:0000 0A ", time.monotonic() + PATIENCE
    while wanted not in pathlib.Path("/proc/net/tcp").read_text():
        assert time.monotonic() < end, "nobody listens"
        time.sleep(0.01)


BUILT_AND_RUN = "Build them and run them"


def build_programs_of_the_guide(port, directory):
    """By the guide's own commands, with that port instead of the guide's."""
    for name, heading in (("server.c", "A server"), ("client.c", "A client")):
        (directory / name).write_text(blocks_of_the_guide(heading, "c")[0].replace("5555", str(port)))
    script = blocks_of_the_guide(BUILT_AND_RUN, "sh")[0].replace("cc ", "cc -Wall -Wextra -Werror ")
    script = script.replace("/opt/zlink/include", str(GUIDE.parents[1] / "include")).replace("/opt/zlink/lib", os.environ["ZLINK_LIBRARY_DIR"])
    subprocess.run(["sh", "-e", "-c", script], cwd=directory, check=True)


def test_the_guide_s_programs_know_each_other(files, tmp_path):
    build_programs_of_the_guide(free_port(), tmp_path)
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    script = blocks_of_the_guide(BUILT_AND_RUN, "sh")[1] + "wait\n"
    done = subprocess.run(["sh", "-e", "-c", script], cwd=tmp_path, check=True, timeout=PATIENCE, capture_output=True)
    assert done.stdout == b"CN=alice\n"


def test_the_guide_s_programs_say_what_the_guide_says_when_one_is_refused(files, tmp_path):
    port = free_port()
    build_programs_of_the_guide(port, tmp_path)
    do_as_the_guide_says("An authority and two certificates", tmp_path)
    said = [text.replace("5555", str(port)).encode() for text in blocks_of_the_guide(BUILT_AND_RUN, "text")]
    how = {"env": dict(os.environ, ZLINK_LOG="warn"), "stderr": subprocess.PIPE}
    with subprocess.Popen([tmp_path / "server"], cwd=files, **how) as served:
        wait_for_listener(port)
        with subprocess.Popen([tmp_path / "client"], cwd=tmp_path, **how) as refused:
            limits = [threading.Timer(PATIENCE, each.kill) for each in (refused, served)]
            for limit in limits:
                limit.start()
            heard = [refused.stderr.readline(), served.stderr.readline()]
            for limit, each in zip(limits, (refused, served)):
                limit.cancel()
                each.kill()
    assert heard == said


def test_the_guide_s_one_certain_peer_is_the_only_one(context, tmp_path):
    succeeded, failed = 0x1000, 0x0800
    heard = []
    for name in ("only", "other"):
        do_as_the_guide_says("One certain peer", tmp_path, lambda script, name=name: script.replace("only", name))
        pull, push, events = context(PULL), context(PUSH), context(PAIR)
        pull.set(TLS_CERT, tmp_path / f"{name}.pem")
        pull.set(TLS_KEY, tmp_path / f"{name}.key")
        push.set(TLS_CA, tmp_path / "only.pem")
        assert zmq.zmq_socket_monitor(push.handle, f"inproc://{name}".encode(), succeeded | failed) == 0
        events.connect(f"inproc://{name}")
        push.connect(pull.bind("tls://127.0.0.1:*"))
        heard.append(int.from_bytes(events.receive()[0][:2], "little"))
    assert heard == [succeeded, failed]


def test_a_client_of_pythons_ssl_is_heard(context, files):
    pair, port = server(context, files, PAIR, requires_certificates=True)
    with client_of_pythons_ssl(files, port, "client") as peer:
        assert peer.version() == "TLSv1.3"
        peer.sendall(greeting() + ready(b"PAIR") + frame(b"question"))
        assert pair.receive() == (b"question", b"CN=alice")
        pair.send(b"answer")
        assert read(peer, 64 + len(ready(b"PAIR")) + 8).endswith(frame(b"answer"))


def test_a_server_of_pythons_ssl_is_spoken_to(context, files):
    with called_by(context, files, PAIR) as (pair, accept):
        pair.send(b"question")
        with server_of_pythons_ssl(accept(), files) as peer:
            peer.sendall(greeting() + ready(b"PAIR") + frame(b"answer"))
            assert read(peer, 64 + len(ready(b"PAIR")) + 10).endswith(frame(b"question"))
            assert pair.receive() == (b"answer", b"CN=feed")


def test_openssl_s_client_is_heard(context, files):
    pull, port = server(context, files, PULL)
    with s_client(files, port, "-verify_return_error", "-verify_hostname", "feed.example", "-quiet") as peer:
        peer.stdin.write(greeting() + ready(b"PUSH") + frame(b"from s_client"))
        peer.stdin.flush()
        assert pull.receive() == (b"from s_client", None)
        assert peer.stdout.read(64)[:1] == b"\xff"
        peer.terminate()


def test_openssl_s_server_is_spoken_to(context, files):
    port = free_port()
    command = ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", files / "server.pem", "-key",
               files / "server.key", "-CAfile", files / "ca.pem", "-Verify", "1", "-verify_return_error", "-quiet", "-naccept", "1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as peer:
        peer.stdin.write(greeting() + ready(b"PULL"))
        peer.stdin.flush()
        push = context(PUSH)
        push.set(TLS_CA, files / "ca.pem")
        push.set(TLS_CERT, files / "client.pem")
        push.set(TLS_KEY, files / "client.key")
        push.connect(f"tls://127.0.0.1:{port}")
        push.send(b"to s_server")
        assert peer.stdout.read(64 + len(ready(b"PUSH")) + 13).endswith(frame(b"to s_server"))
        peer.terminate()


def octets_from(stream, peer, count):
    octets = b""
    while len(octets) < count:
        assert stream.receive()[0] == peer
        more, _ = stream.receive()
        assert more, f"ended after {octets!r}"
        octets += more
    return octets


def test_a_client_of_pythons_ssl_fetches_a_page_from_a_stream_socket(context, files):
    stream, port = server(context, files, STREAM, requires_certificates=True)
    page = bytes(range(256)) * 1000
    with client_of_pythons_ssl(files, port, "client") as browser:
        peer, user = stream.receive()
        assert stream.receive() == (b"", b"CN=alice")
        browser.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert octets_from(stream, peer, 18) == b"GET / HTTP/1.0\r\n\r\n"
        stream.send(peer, page)
        stream.send(peer, b"")
        assert read(browser, len(page)) == page
        assert browser.recv(1) == b"", "ended as TLS ends"


def test_a_stream_socket_fetches_a_page_from_a_server_of_pythons_ssl(context, files):
    with called_by(context, files, STREAM) as (stream, accept):
        with server_of_pythons_ssl(accept(), files) as peer_of_it:
            peer, _ = stream.receive()
            assert stream.receive()[0] == b""
            stream.send(peer, b"GET /\r\n")
            assert read(peer_of_it, 7) == b"GET /\r\n"
            peer_of_it.sendall(b"200 OK")
            assert octets_from(stream, peer, 6) == b"200 OK"
            peer_of_it.unwrap()
        assert stream.receive()[0] == peer
        assert stream.receive()[0] == b"", "the notice of the end"


def test_a_stream_socket_talks_to_openssl_s_programs(context, files):
    stream, port = server(context, files, STREAM)
    with s_client(files, port, "-verify_return_error", "-quiet") as client:
        peer, _ = stream.receive()
        assert stream.receive()[0] == b""
        client.stdin.write(b"hello")
        client.stdin.flush()
        assert octets_from(stream, peer, 5) == b"hello"
        stream.send(peer, b"good day")
        assert client.stdout.read(8) == b"good day"
        stream.send(peer, b"")
        assert client.stdout.read() == b""
        client.wait(PATIENCE)


def test_a_certificate_is_replaced_as_the_guide_says(context, files, tmp_path):
    for name in files.iterdir():
        (tmp_path / name.name).write_bytes(name.read_bytes())
    _, port = server(context, tmp_path, PULL)

    def serial():
        with client_of_pythons_ssl(files, port) as peer:
            return peer.getpeercert()["serialNumber"]

    before = serial()
    do_as_the_guide_says("Replacing certificates", tmp_path)
    deadline = time.monotonic() + PATIENCE
    while serial() == before:
        assert time.monotonic() < deadline, "the old certificate is still shown"


def test_openssl_s_client_resumes_its_session(context, files, tmp_path):
    stream, port = server(context, files, STREAM)

    def says(*more):
        with s_client(files, port, *more) as client:
            peer, _ = stream.receive()
            assert stream.receive()[0] == b""
            stream.send(peer, b"")  # behind the ticket
            return client.stdout.read()

    assert b"\nNew, TLSv1.3" in says("-sess_out", tmp_path / "ticket")
    again = says("-sess_in", tmp_path / "ticket")
    assert b"\nReused, TLSv1.3" in again
    assert b"Max Early Data: 0" in again


def test_openssl_s_client_sends_no_early_data(context, files, tmp_path):
    stream, port = server(context, files, STREAM)
    (tmp_path / "early").write_bytes(b"early")
    for more in (["-sess_out", tmp_path / "ticket"], ["-sess_in", tmp_path / "ticket", "-early_data", tmp_path / "early"]):
        with s_client(files, port, *more, errors=subprocess.STDOUT) as client:
            peer, _ = stream.receive()
            assert stream.receive()[0] == b""
            client.stdin.write(b"late")
            client.stdin.flush()
            assert octets_from(stream, peer, 4) == b"late"
            stream.send(peer, b"")
            said = client.stdout.read()
    assert b"\nReused, TLSv1.3" in said and b"Early data was not sent" in said
