"""zlink probe, against libzmq, and against what is no ZMTP."""

import contextlib
import json
import os
import socket
import ssl
import subprocess
import threading

import pytest
import zmq
from conftest import run


def steps(said):
    return [line.split()[0] for line in said.decode().splitlines()]


@contextlib.contextmanager
def answering(octets, certificate=None):
    """A server that writes these to whoever comes first, once that has begun to greet; inside TLS where it has a certificate."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def answer():
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):  # it may have gone by now
                if certificate:
                    terms = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                    terms.load_cert_chain(certificate[1], certificate[3])
                    connection = terms.wrap_socket(connection, server_side=True)
                connection.recv(11)
                connection.sendall(octets)
                connection.unwrap() if certificate else connection.shutdown(socket.SHUT_WR)
                while connection.recv(1000):
                    pass
        thread = threading.Thread(target=answer)
        thread.start()
        yield ("tls://localhost:%d" if certificate else "tcp://127.0.0.1:%d") % server.getsockname()[1]
        thread.join()


@pytest.mark.parametrize("kind, name", [(zmq.XPUB, "XPUB"), (zmq.REP, "REP"), (zmq.PUSH, "PUSH"), (zmq.ROUTER, "ROUTER")])
def test_the_type_of_the_peer_is_told(peer, kind, name):
    endpoint = peer(kind).bind()
    said = run("probe", endpoint)
    assert steps(said) == ["connect", "greeting", "mechanism", "ready"]
    assert b"ZMTP 3.1, mechanism NULL" in said and f"Socket-Type {name}".encode() in said
    run("probe", endpoint, "--type", name.lower())
    run("probe", endpoint, "--type", "pair", status=6)


def test_a_probe_takes_no_message_of_a_push(peer):
    push, pull = peer(zmq.PUSH), peer(zmq.PULL)
    endpoint = push.bind()
    run("probe", endpoint)
    pull.socket.connect(endpoint)
    push.socket.send(b"whole")
    assert pull.socket.recv() == b"whole"


def test_ipc_is_probed_as_well(peer, tmp_path):
    assert b"Socket-Type REP" in run("probe", peer(zmq.REP).bind(f"ipc://{tmp_path}/s"))
    run("probe", f"ipc://{tmp_path}/nobody", status=4)


def test_data_waits_for_a_first_message(peer, start):
    pub = peer(zmq.XPUB)
    probe = start("probe", pub.bind(), "--data")
    assert pub.socket.recv() == b"\1"
    pub.socket.send_multipart([b"news", b"x\0"])
    assert b'6 octets in 2 parts: "news"' in probe.end()


def test_a_silent_publisher_is_alive_and_has_no_data(peer):
    endpoint = peer(zmq.PUB).bind()
    run("probe", endpoint)
    assert steps(run("probe", endpoint, "--data", "-W", "1", status=3))[-1] == "data"


def test_nobody_is_there(free_port):
    assert b"refused" in run("probe", free_port, status=4)
    assert b"cannot find the address" in run("probe", "tcp://no.such.host.invalid:1", status=4)


@pytest.mark.parametrize("octets, status, words", [
    (b"HTTP/1.1 400 Bad Request\r\n\r\n", 6, b"speaks HTTP"), (b"SSH-2.0-x\r\n", 6, b"speaks SSH"), (b"", 7, b"closed the connection"),
    (b"\xff" + bytes(8) + b"\x7f\3\1NULL" + bytes(48) + b"\4\1x", 6, b"something else than READY"),
    (b"\xff" + bytes(8) + b"\x7f\3\1NULL" + bytes(48) + b"\4\x0c\5ERROR\5no no", 5, b"no no"),
    (b"\xff" + bytes(8) + b"\x7f\3\1NULL" + bytes(48) + b"\4\x08\5READY\xffx", 6, b"malformed READY"),
    (b"\xff" + bytes(8) + b"\x7f\3\1NULL" + bytes(48) + b"\6" + b"\xff" * 8, 6, b"announced a frame"),
])
def test_what_is_no_peer_is_told(octets, status, words):
    with answering(octets) as endpoint:
        assert words in run("probe", endpoint, status=status)


@pytest.mark.parametrize("flags, status", [([], 0), (["--type", "pull"], 6), (["--data"], 6)])
def test_a_type_of_controls_does_not_reach_the_terminal(flags, status):
    ready = b"\5READY\x0bSocket-Type\0\0\0\x06\x1b[2J\xc2\x9b"
    with answering(b"\xff" + bytes(8) + b"\x7f\3\1NULL" + bytes(48) + b"\4" + bytes([len(ready)]) + ready) as endpoint:
        said = run("probe", endpoint, *flags, status=status)
    assert rb"\x1b[2J\xc2" in said
    assert not any(control in text for control in "\x1b\x9b" for text in (said.decode(), run.err))


def test_a_listener_that_says_nothing_is_no_peer():
    with socket.create_server(("127.0.0.1", 0)) as server:
        said = run("probe", "tcp://127.0.0.1:%d" % server.getsockname()[1], "-W", "1", status=6)
        assert steps(said) == ["connect", "greeting"]


def test_curve_needs_keys_and_goes_on_with_them(peer):
    public, secret = zmq.curve_keypair()
    rep = peer(zmq.REP)
    rep.socket.curve_secretkey = secret
    rep.socket.curve_server = True
    endpoint = rep.bind()
    said = run("probe", endpoint, status=5)
    assert steps(said)[-1] == "mechanism" and b"asks for CURVE" in said
    said = run("probe", endpoint, "--type", "rep", "--curve-server-key", public.decode())
    assert steps(said) == ["connect", "mechanism", "ready"] and b"CURVE" in said


def test_a_greeting_without_a_handshake_is_told(start):
    web = start("pull", "ws://127.0.0.1:*", "-v")
    assert b"Socket-Type PULL" in run("probe", web.bound())


@pytest.fixture
def certificates(tmp_path):
    """One authority with a server's certificate for localhost, and one that vouches for nobody here."""
    run("keygen", "--tls", tmp_path / "tls")
    run("keygen", "--tls", tmp_path / "other")
    return tmp_path


def server_of(certificates, *more):
    return ["--cert", certificates / "tls/localhost.pem", "--key", certificates / "tls/localhost.key", *more]


def tls_endpoint(listener):
    return listener.bound().replace("127.0.0.1", "localhost")


@pytest.mark.parametrize("kind", ["push", "rep", "xpub"])
def test_each_step_over_tls_is_told(start, certificates, kind):
    listener = start("cat", kind, "@tls://127.0.0.1:*", "-v", *server_of(certificates), stdin=subprocess.PIPE)
    endpoint, ca = tls_endpoint(listener), ["--ca", certificates / "tls/ca.pem"]
    said = run("probe", endpoint, *ca)
    assert steps(said) == ["connect", "tls", "greeting", "mechanism", "ready"]
    assert b"TLSv1.3, the certificate is that of localhost" in said and b"ZMTP 3.1, mechanism NULL" in said
    assert f"Socket-Type {kind.upper()}".encode() in said
    said = run("probe", endpoint, *ca, "--type", "pair", status=6)
    assert steps(said)[-1] == "ready" and b"FAILED" in said
    assert b"was not asked" in run("probe", endpoint, "--insecure")


@pytest.mark.parametrize("flags, words", [
    (["--ca", "other/ca.pem"], b"unable to get local issuer certificate: CN=localhost"),
    (["--ca", "tls/ca.pem", "-o", "tls_hostname=other.example"], b"asked for other.example, got localhost")])
def test_a_certificate_that_is_not_accepted_ends_it_at_tls(start, certificates, flags, words):
    listener = start("rep", "@tls://127.0.0.1:*", "-v", "--echo", *server_of(certificates))
    said = run("probe", tls_endpoint(listener), *flags, status=5, cwd=certificates)
    assert steps(said) == ["connect", "tls"] and words in said


def test_a_server_that_wants_a_certificate_ends_it_at_tls(start, certificates):
    ca = ["--ca", certificates / "tls/ca.pem"]
    listener = start("rep", "@tls://127.0.0.1:*", "-v", "--echo", *server_of(certificates, *ca))
    endpoint = tls_endpoint(listener)
    said = run("probe", endpoint, *ca, status=5)
    assert said.splitlines()[-1].startswith(b"tls ") and b"requires a certificate" in said
    assert steps(run("probe", endpoint, *server_of(certificates, *ca)))[-1] == "ready"


def test_what_does_no_tls_ends_it_at_tls(peer, certificates):
    endpoint = peer(zmq.REP).bind().replace("tcp://127.0.0.1", "tls://localhost")
    assert steps(run("probe", endpoint, "--insecure", status=5)) == ["connect", "tls"]
    with socket.create_server(("127.0.0.1", 0)) as silent:
        said = run("probe", "tls://127.0.0.1:%d" % silent.getsockname()[1], "--insecure", "-W", "1", status=5)
        assert steps(said) == ["connect", "tls"] and b"in time" in said


def test_nobody_is_there_behind_tls(free_port):
    said = run("probe", free_port.replace("tcp", "tls"), "--insecure", status=4)
    assert steps(said) == ["connect"] and b"refuses connections" in said
    assert steps(run("probe", "tls://no.such.host.invalid:1", "--insecure", status=4)) == ["connect"]


@pytest.mark.parametrize("octets, status, step", [(b"HTTP/1.1 400 Bad Request\r\n\r\n", 6, "greeting"), (b"", 7, "greeting"),
                                                  (b"\xff" + bytes(8) + b"\x7f\3\1PLAIN" + bytes(47), 5, "mechanism"),
                                                  (b"\xff" + bytes(8) + b"\x7f\3\1NULL" + bytes(48) + b"\4\1x", 6, "ready")])
def test_what_speaks_no_zmtp_inside_tls_is_told(certificates, octets, status, step):
    with answering(octets, server_of(certificates)) as endpoint:
        said = run("probe", endpoint, "--ca", certificates / "tls/ca.pem", status=status)
    assert steps(said)[:2] == ["connect", "tls"] and steps(said)[-1] == step


def test_a_probe_over_tls_takes_no_message_of_a_push(start, certificates):
    push = start("push", "@tls://127.0.0.1:*", "-v", "-m", "whole", *server_of(certificates))
    endpoint, ca = tls_endpoint(push), ["--ca", certificates / "tls/ca.pem"]
    run("probe", endpoint, *ca)
    assert run("pull", ">" + endpoint, "-n", "1", *ca) == b"whole\n"
    push.end()


def test_steps_over_wss_are_told_when_the_peer_is_ready(start, certificates):
    listener = start("rep", "@wss://127.0.0.1:*", "-v", "--echo", *server_of(certificates))
    endpoint = tls_endpoint(listener)
    said = run("probe", endpoint, "--type", "rep", "--ca", certificates / "tls/ca.pem")
    assert steps(said) == ["connect", "tls", "mechanism", "ready"] and b"TLSv1.3" in said and b"NULL" in said
    assert b"unable to get local issuer" in run("probe", endpoint, "--type", "rep", "--ca", certificates / "other/ca.pem", status=5)


def test_data_comes_over_tls(start, certificates):
    pub = start("pub", "tls://127.0.0.1:*", "-v", "-m", "news", *server_of(certificates))
    assert b'4 octets in 1 part: "news"' in run("probe", tls_endpoint(pub), "--data", "--ca", certificates / "tls/ca.pem")


def failed(told):
    return sum(number for name, number in told.items() if name.startswith("handshakes_failed_"))


@pytest.mark.parametrize("where", ["tcp", "ipc", "ws", "tls", "curve"])
@pytest.mark.parametrize("kind", ["rep", "pull", "sub", "pub", "router"])
def test_the_peer_counts_a_handshake_that_was_done(start, tmp_path, where, kind):
    address = {"ipc": f"ipc://{tmp_path}/s", "curve": "tcp://127.0.0.1:*"}.get(where, where + "://127.0.0.1:*")
    theirs, ours = [], []
    if where == "tls":
        run("keygen", "--tls", tmp_path / "tls")
        theirs = ["--cert", tmp_path / "tls/localhost.pem", "--key", tmp_path / "tls/localhost.key"]
        ours = ["--ca", tmp_path / "tls/ca.pem"]
    if where == "curve":
        run("keygen", tmp_path / "server")
        theirs, ours = ["--curve-server", "--curve-cert", tmp_path / "server.key_secret"], ["--curve-server-key", tmp_path / "server.key"]
    numbers = f"unix:{tmp_path}/numbers"
    source = {"stdin": subprocess.PIPE} if kind in ("pub", "router") else {}
    listener = start(kind, "@" + address, "-v", *theirs, *(["--echo"] if kind == "rep" else []), env=dict(os.environ, ZLINK_METRICS=numbers), **source)
    endpoint = listener.bound().replace("127.0.0.1", "localhost") if where == "tls" else listener.bound()
    for _ in range(5):
        run("probe", endpoint, "--type", "xpub" if kind == "pub" else kind, *ours)
    ended = 0
    while ended < 5:
        told = json.loads(run("stats", numbers, "-f", "json"))["sockets"][0]
        ended = failed(told) + sum(number for name, number in told.items() if name.startswith("disconnects_"))
    assert failed(told) == 0


@pytest.mark.parametrize("where", ["tcp", "ipc", "ws", "tls"])
def test_a_peer_of_passwords_counts_a_handshake_that_was_done(start, tmp_path, where):
    address = f"ipc://{tmp_path}/s" if where == "ipc" else where + "://127.0.0.1:*"
    login, theirs, ours = ["--username", "admin", "--password", "secret"], [], []
    if where == "tls":
        run("keygen", "--tls", tmp_path / "tls")
        theirs = ["--cert", tmp_path / "tls/localhost.pem", "--key", tmp_path / "tls/localhost.key"]
        ours = ["--ca", tmp_path / "tls/ca.pem"]
    numbers = f"unix:{tmp_path}/numbers"
    listener = start("bench", "--bind", address, *login, *theirs, env=dict(os.environ, ZLINK_METRICS=numbers))
    endpoint = listener.bound().rstrip(";")

    for _ in range(5):
        assert b"a peer that fits a rep" in run("probe", endpoint, "--type", "rep", *login, *ours)
    def told():
        (found,) = (each for each in json.loads(run("stats", numbers, "-f", "json"))["sockets"] if each["type"] == "REP" and "zeromq.zap" not in each["socket"])
        return found

    while failed(told()) + sum(number for name, number in told().items() if name.startswith("disconnects_")) < 5:
        pass
    assert failed(told()) == 0
    run("probe", endpoint, "--type", "rep", *login[:-1], "other", *ours, status=5)
    run("probe", endpoint, *login[:-1], "other", *ours, status=5)
    assert b"Incompatible-Socket-Type" in run("probe", endpoint, *login, *ours, status=5 if where == "tls" else 6)
    while failed(told()) < 1:
        pass


def test_keys_are_checked_as_far_as_a_push_loses_nothing_by_it(start, tmp_path):
    for name in ("server", "other"):
        run("keygen", tmp_path / name)
    push = start("push", "@tcp://127.0.0.1:*", "-v", "--curve-server", "--curve-cert", tmp_path / "server.key_secret", stdin=subprocess.PIPE)
    endpoint = push.bound()
    assert b"Incompatible-Socket-Type" in run("probe", endpoint, "--curve-server-key", tmp_path / "server.key", status=6)
    assert b"Incompatible-Socket-Type" not in run("probe", endpoint, "--curve-server-key", tmp_path / "other.key", status=6)
