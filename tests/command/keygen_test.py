"""zlink keygen: what it makes is what pyzmq and TLS take."""

import os
import pty
import stat
import subprocess

import pytest
import zmq
import zmq.auth
from conftest import COMMAND, LIMIT, run


def rights(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_a_pair_belongs_together():
    words = run("keygen").split()
    assert words[0::2] == [b"public-key", b"secret-key"]
    assert zmq.curve_public(words[3]) == words[1]


def test_files_are_those_of_pyzmq(tmp_path):
    said = run("keygen", tmp_path / "server")
    public, secret = zmq.auth.load_certificate(tmp_path / "server.key_secret")
    assert zmq.auth.load_certificate(tmp_path / "server.key") == (public, None)
    assert said == b"public-key " + public + b"\n" and secret not in (tmp_path / "server.key").read_bytes()
    assert (rights(tmp_path / "server.key_secret"), rights(tmp_path / "server.key") & 0o133) == (0o600, 0)
    assert run("keygen", "--public-from", tmp_path / "server.key_secret") == public + b"\n"
    assert run("keygen", "--public-from", "-", octets=secret) == public + b"\n"


def test_files_that_are_there_stay(tmp_path):
    (tmp_path / "a.key_secret").write_text("mine")
    run("keygen", tmp_path / "a", status=1)
    assert (tmp_path / "a.key_secret").read_text() == "mine"
    run("keygen", tmp_path / "a", "--force")
    assert rights(tmp_path / "a.key_secret") == 0o600


@pytest.mark.parametrize("flags, status, is_shown", [([], 2, False), (["--show"], 0, True)])
def test_a_secret_is_not_written_to_a_terminal_unless_asked_for(flags, status, is_shown):
    master, slave = pty.openpty()
    done = subprocess.run([COMMAND, "keygen", *flags], stdout=slave, stderr=subprocess.PIPE, timeout=LIMIT, check=False)
    os.close(slave)
    try:
        said = os.read(master, 10000)
    except OSError:  # nothing was written
        said = b""
    os.close(master)
    assert (done.returncode, b"secret-key" in said) == (status, is_shown)


def test_what_is_no_key_has_no_public_one():
    run("keygen", "--public-from", "-", octets=b"short", status=2)
    run("keygen", "--public-from", "/nonexistent", status=1)


def test_messages_are_sealed_with_files(tmp_path, start):
    for name in ("server", "client"):
        run("keygen", tmp_path / name)
    pull = start("pull", "tcp://127.0.0.1:*", "-v", "-n", "1", "--curve-server", "--curve-cert", tmp_path / "server.key_secret")
    run("push", pull.bound(), "-m", "sealed", "--curve-server-key", tmp_path / "server.key", "--curve-cert", tmp_path / "client.key_secret")
    assert pull.end() == b"sealed\n"


def test_tls_is_ready_for_use(tmp_path, start):
    directory = tmp_path / "tls"
    said = run("keygen", "--tls", directory).decode().split()
    assert rights(directory / "localhost.key") == rights(directory / "ca.key") == 0o600
    rep = start("rep", "tls://localhost:*".replace("localhost", "127.0.0.1"), "-v", "--echo", *said)
    endpoint = rep.bound()
    assert run("req", endpoint, "-m", "safe", *said) == b"safe\n"
    assert b"ready" in run("probe", endpoint, "--type", "rep", *said)
    run("req", endpoint, "-m", "x", "--ca", directory / "ca.pem", "-W", "10", status=5)   # without a certificate
    run("probe", endpoint, "-W", "10", status=5)                                          # nor trust
    run("keygen", "--tls", directory, status=1)


def test_who_binds_and_connects_asks_for_a_certificate(tmp_path, start, free_port):
    said = run("keygen", "--tls", tmp_path / "tls").decode().split()
    rep = start("rep", "-b", "tls://127.0.0.1:*", "-c", free_port.replace("tcp", "tls"), "-v", "--echo", *said)
    endpoint = rep.bound()
    run("req", endpoint, "-m", "x", "--ca", tmp_path / "tls/ca.pem", "-W", "10", status=5)
    assert run("req", endpoint, "-m", "safe", *said) == b"safe\n"
    # Those who connect do not care.
    server = start("rep", "tls://127.0.0.1:*", "-v", "--echo", *said)
    assert run("req", "-b", "tls://127.0.0.1:*", "-c", server.bound(), "-m", "both", *said) == b"both\n"


def test_names_of_certificates_are_hosts(tmp_path):
    run("keygen", "--tls", tmp_path, "--name", "a.example", "--name", "192.0.2.1")
    assert (tmp_path / "a.example.pem").exists() and (tmp_path / "192.0.2.1.key").exists()
    run("keygen", "--tls", tmp_path / "b", "--name", "../x", status=2)
    run("keygen", "--tls", tmp_path / "b", "--name", "ca", "--force", status=2)


def test_an_authority_that_is_there_vouches_for_more_names(tmp_path, start):
    run("keygen", "--tls", tmp_path, "--name", "127.0.0.1")
    authority = (tmp_path / "ca.pem").read_bytes()
    said = run("keygen", "--tls", tmp_path, "--name", "carol").decode().split()
    assert (tmp_path / "ca.pem").read_bytes() == authority
    server = [tmp_path / "127.0.0.1.pem" if word.endswith("carol.pem") else tmp_path / "127.0.0.1.key" if word.endswith("carol.key") else word
              for word in said]
    rep = start("rep", "tls://127.0.0.1:*", "-v", "--echo", *server)
    assert run("req", rep.bound(), "-m", "later", *said) == b"later\n"
    carol = (tmp_path / "carol.pem").read_bytes()
    run("keygen", "--tls", tmp_path, "--name", "carol", status=1)
    run("keygen", "--tls", tmp_path, "--name", "carol", "--force")
    assert (tmp_path / "ca.pem").read_bytes() == authority and (tmp_path / "carol.pem").read_bytes() != carol


@pytest.mark.parametrize("lost", ["ca.key", "ca.pem"])
def test_half_an_authority_is_none(tmp_path, lost):
    run("keygen", "--tls", tmp_path)
    (tmp_path / lost).unlink()
    run("keygen", "--tls", tmp_path, "--name", "carol", status=1)
    assert not (tmp_path / lost).exists() and not (tmp_path / "carol.pem").exists()


def test_an_authority_that_has_expired_vouches_for_nobody(tmp_path):
    run("keygen", "--tls", tmp_path)
    subprocess.run(["openssl", "x509", "-in", tmp_path / "ca.pem", "-signkey", tmp_path / "ca.key", "-days", "-1", "-out", tmp_path / "old.pem"],
                   capture_output=True, check=True)
    (tmp_path / "old.pem").rename(tmp_path / "ca.pem")
    run("keygen", "--tls", tmp_path, "--name", "carol", status=1)
    assert not (tmp_path / "carol.pem").exists()


def test_an_authority_tells_whom_it_was_made_for(tmp_path):
    run("keygen", "--tls", tmp_path, "--name", "feed.example", "--name", "alice")
    subject = subprocess.run(["openssl", "x509", "-in", tmp_path / "ca.pem", "-noout", "-subject"], capture_output=True, check=True).stdout
    assert b"authority of feed.example made 20" in subject
