"""Programs that nobody has changed, under a policy: pyzmq's publisher and subscriber in two processes, each with a file of its own.

The listings and the files of docs/policy.md are what is run.
"""

import os
import pathlib
import re
import select
import subprocess

import pytest

from bare_socket import zmq

pytestmark = pytest.mark.skipif(zmq.zmq_has(b"tls") != 1, reason="built without TLS")

HAS_CURVE = zmq.zmq_has(b"curve") == 1
with_curve = pytest.mark.skipif(not HAS_CURVE, reason="built without CURVE")

PYTHON = "/usr/bin/python3"
OURS = os.environ["ZLINK_LIBRARY_DIR"]
PATIENCE = 60
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "policy.md"

PUBLISHER = """
import sys, zmq
context = zmq.Context()
publisher = context.socket(zmq.XPUB)
publisher.bind("tcp://*:*")
print(publisher.last_endpoint.decode(), flush=True)
publisher.recv()                      # somebody has subscribed
publisher.send(b"news")
publisher.close()
context.term()
"""

SUBSCRIBER = """
import sys, zmq
context = zmq.Context()
subscriber = context.socket(zmq.SUB)
subscriber.subscribe(b"")
subscriber.connect(sys.argv[1])
message = subscriber.recv(copy=False)
print(message.bytes.decode(), subscriber.last_endpoint.decode(), message.get("User-Id"), flush=True)
subscriber.close()
context.term()
"""

# Tells of each handshake, too, which takes a monitor.
WATCHED = """
import sys, zmq
from zmq.utils.monitor import recv_monitor_message
context = zmq.Context()
subscriber = context.socket(zmq.SUB)
subscriber.subscribe(b"")
monitor = subscriber.get_monitor_socket()
subscriber.connect(sys.argv[1])
print("connecting", flush=True)
while True:
    event = recv_monitor_message(monitor)
    if event["event"] in (zmq.EVENT_HANDSHAKE_SUCCEEDED, zmq.EVENT_DISCONNECTED):
        break
print("connected" if event["event"] == zmq.EVENT_HANDSHAKE_SUCCEEDED else "refused", event["endpoint"].decode(), flush=True)
context.destroy(linger=0)
"""


def blocks(language):
    return re.findall(rf"```{language}\n([\s\S]*?)```", PAGE.read_text(encoding="utf-8"))


@pytest.fixture
def processes():
    started = []
    yield started
    for each in started:
        each.kill()
        each.communicate()


@pytest.fixture
def run(processes):
    def start(program, *arguments, policy=None, library=OURS):
        env = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "ZLINK_POLICY")}
        if library:
            env["LD_LIBRARY_PATH"] = library
        if policy is not None:
            env["ZLINK_POLICY"] = str(policy)
        processes.append(subprocess.Popen([PYTHON, "-c", program, *map(str, arguments)], env=env, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return processes[-1]

    return start


@pytest.fixture
def folder(files, tmp_path):
    """The certificates of docs/secure.md, and the policies of docs/policy.md, as they have to be kept."""
    for each in files.iterdir():
        target = tmp_path / each.name
        target.write_bytes(each.read_bytes())
        target.chmod(0o600)
    for text in blocks("toml"):
        name = re.match(r"# (\S+\.toml)\n", text)
        if name:
            put(tmp_path / name[1], text)
    if HAS_CURVE:
        make_keys(tmp_path)
    return tmp_path


def make_keys(folder):
    """Those of CURVE, as the page says."""
    for text in blocks("python"):
        if name := re.match(r"# (\S+\.py)\n", text):
            (folder / name[1]).write_text(text)
    beginning = blocks("sh")[1].split("ZLINK_POLICY=")[0]
    in_shell(beginning, folder, check=True)


def in_shell(script, folder, **how):
    env = dict(os.environ, LD_LIBRARY_PATH=OURS)
    return subprocess.run(["sh", "-e", "-c", script.replace("python3", PYTHON)], cwd=folder, env=env, text=True, timeout=PATIENCE,
                          capture_output=True, **how)


def put(path, text):
    """Whole or not at all."""
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.chmod(0o600)
    fresh.rename(path)
    return path


def names_of(language):
    return re.findall(rf"```{language}\n# (\S+)\n", PAGE.read_text(encoding="utf-8"))


def line_of(process):
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
    assert ready, "it says nothing"
    return process.stdout.readline().strip()


def port_of(publisher):
    endpoint = line_of(publisher)
    assert endpoint.startswith("tcp://"), endpoint
    return endpoint.rsplit(":", 1)[1]


def test_a_publisher_and_a_subscriber_become_mutual_tls_by_a_file_each(run, folder):
    publisher = run(PUBLISHER, policy=folder / "publisher.toml")
    port = port_of(publisher)
    subscriber = run(SUBSCRIBER, f"tcp://localhost:{port}", policy=folder / "subscriber.toml")
    assert subscriber.communicate(timeout=PATIENCE)[0] == f"news tcp://localhost:{port} CN=feed\n"
    assert publisher.wait(timeout=PATIENCE) == 0


def free_port():
    import socket

    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return str(trial.getsockname()[1])


@pytest.mark.parametrize("script", [blocks("sh")[0], pytest.param(blocks("sh")[1], marks=with_curve)], ids=["tls", "curve"])
def test_the_programs_of_the_page_do_as_it_says(folder, script):
    port = free_port()
    for name in ("publisher.py", "subscriber.py"):
        (folder / name).write_text((folder / name).read_text().replace("5555", port))
    done = in_shell(script, folder)
    assert (done.stdout, done.stderr) == ("news\n", "")


@pytest.mark.parametrize("name", [name for name in names_of("toml")
                                  if not name.endswith("users.toml") and (HAS_CURVE or not name.startswith("curve-"))])
def test_the_question_of_the_page_is_answered_for_each_of_its_files(run, folder, name):
    question = blocks("python")[0]
    asked = run(question, policy=folder / name)
    assert asked.wait(timeout=PATIENCE) == 0, asked.stderr.read()
    (folder / name).chmod(0o666)
    assert run(question, policy=folder / name).wait(timeout=PATIENCE) != 0
    assert run(question).wait(timeout=PATIENCE) != 0


def test_the_users_of_the_page_come_in_and_others_do_not(run, folder):
    endpoint = f"ipc://{folder}/feed"
    publisher = PUBLISHER.replace("tcp://*:*", endpoint).replace(
        "publisher.recv()", 'print(publisher.recv(copy=False).get("User-Id"), flush=True)')
    bound = run(publisher, policy=folder / "local.toml")
    assert line_of(bound) == endpoint
    guessed = put(folder / "guessed.toml", (folder / "local.toml").read_text().replace('"secret"', '"guess"'))
    stranger = run(WATCHED, endpoint, policy=guessed)
    assert line_of(stranger) == "connecting"
    assert line_of(stranger).startswith("refused")
    friend = run(SUBSCRIBER.replace(', message.get("User-Id")', ""), endpoint, policy=folder / "local.toml")
    assert friend.communicate(timeout=PATIENCE)[0] == f"news {endpoint}\n"
    assert line_of(bound) == "alice"
    assert bound.wait(timeout=PATIENCE) == 0


@with_curve
def test_a_subscriber_without_the_servers_key_gets_nothing(run, folder):
    publisher = run(PUBLISHER, policy=folder / "curve-publisher.toml")
    endpoint = f"tcp://localhost:{port_of(publisher)}"
    text = (folder / "curve-subscriber.toml").read_text()
    for wrong in (text.replace("publisher.key", "alice.key"), None):
        stranger = run(WATCHED, endpoint, policy=put(folder / "other.toml", wrong) if wrong else None)
        assert line_of(stranger) == "connecting"
        assert line_of(stranger).startswith("refused")
    friend = run(SUBSCRIBER.replace(', message.get("User-Id")', ""), endpoint, policy=folder / "curve-subscriber.toml")
    assert friend.communicate(timeout=PATIENCE)[0] == f"news {endpoint}\n"


def fingerprint(file):
    told = subprocess.run(["openssl", "x509", "-in", file, "-noout", "-fingerprint", "-sha256"], check=True, capture_output=True,
                          text=True).stdout
    return told.strip().split("=")[1]


def test_users_known_by_their_certificates_come_in_under_their_names(run, folder):
    bound = PUBLISHER.replace("publisher.recv()", 'print(publisher.recv(copy=False).get("User-Id"), flush=True)')
    policy = put(folder / "known.toml", (folder / "publisher.toml").read_text() + 'zap = "known-users.toml"\n')
    put(folder / "known-users.toml", f'[fingerprints]\nnobody = "{fingerprint(folder / "server.pem")}"\n')
    publisher = run(bound, policy=policy)
    endpoint = f"tcp://localhost:{port_of(publisher)}"
    stranger = run(WATCHED, endpoint, policy=folder / "subscriber.toml")
    assert line_of(stranger) == "connecting"
    assert line_of(stranger).startswith("refused")
    put(folder / "known-users.toml", f'[fingerprints]\n"the feed\'s friend" = "{fingerprint(folder / "client.pem")}"\n')
    friend = run(SUBSCRIBER, endpoint, policy=folder / "subscriber.toml")  # it tries again until the publisher has looked
    assert friend.communicate(timeout=PATIENCE)[0] == f"news {endpoint} CN=feed\n"
    assert line_of(publisher) == "the feed's friend"


def test_a_certificate_that_is_replaced_holds_for_new_connections(run, folder):
    publisher = run(PUBLISHER, policy=folder / "publisher.toml")
    endpoint = f"tcp://localhost:{port_of(publisher)}"
    renewed = folder / "renewed.pem"
    subprocess.run(["openssl", "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                    "-extfile", "server.ext", "-out", renewed], cwd=folder, check=True, capture_output=True)
    renewed.chmod(0o600)
    text = (folder / "subscriber.toml").read_text() + f'fingerprints = "{fingerprint(renewed)}"\n'
    renewed.rename(folder / "server.pem")
    subscriber = run(SUBSCRIBER, endpoint, policy=put(folder / "renewed.toml", text))
    assert subscriber.communicate(timeout=PATIENCE)[0] == f"news {endpoint} CN=feed\n"


def test_the_line_of_the_page_is_what_stands_on_stderr(run, folder):
    (line,) = blocks("text")
    err = run(BIND, "tcp://*:5556", policy=put(folder / "empty.toml", "")).communicate(timeout=PATIENCE)[1]
    assert err == line.replace("/etc/feed/publisher.toml", str(folder / "empty.toml"))


def test_the_octets_on_the_way_are_those_of_tls(run, folder):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE)
        run(SUBSCRIBER, f"tcp://localhost:{listening.getsockname()[1]}", policy=folder / "subscriber.toml")
        with listening.accept()[0] as accepted:
            accepted.settimeout(PATIENCE)
            assert accepted.recv(3) == b"\x16\x03\x01", "a handshake record, and no greeting of ZMTP"


@pytest.mark.parametrize("library", [OURS, None])
def test_a_subscriber_without_the_file_gets_nothing(run, folder, library):
    publisher = run(PUBLISHER, policy=folder / "publisher.toml")
    stranger = run(WATCHED, f"tcp://localhost:{port_of(publisher)}", library=library)
    assert line_of(stranger) == "connecting"
    assert line_of(stranger).startswith("refused")
    assert publisher.poll() is None, "nobody has subscribed"


def test_a_publisher_without_the_file_is_not_listened_to(run, folder):
    publisher = run(PUBLISHER)
    subscriber = run(WATCHED, f"tcp://localhost:{port_of(publisher)}", policy=folder / "subscriber.toml")
    assert line_of(subscriber) == "connecting"
    assert line_of(subscriber).startswith("refused tcp://localhost:")


def test_a_client_of_another_authority_is_refused(run, folder, tmp_path_factory):
    from conftest import do_as_the_guide_says

    other = tmp_path_factory.mktemp("other")
    do_as_the_guide_says("An authority and two certificates", other)
    for name in ("client.pem", "client.key"):
        (folder / f"other-{name}").write_bytes((other / name).read_bytes())
        (folder / f"other-{name}").chmod(0o600)
    text = (folder / "subscriber.toml").read_text().replace("client.", "other-client.")
    publisher = run(PUBLISHER, policy=folder / "publisher.toml")
    stranger = run(WATCHED, f"tcp://localhost:{port_of(publisher)}", policy=put(folder / "other.toml", text))
    assert line_of(stranger) == "connecting"
    # In TLS 1.3 a client hears only behind its own handshake that its certificate is not taken.
    assert line_of(stranger).startswith(("refused", "connected"))
    assert publisher.poll() is None


def test_a_server_under_another_name_is_refused(run, folder):
    publisher = run(PUBLISHER, policy=folder / "publisher.toml")
    text = (folder / "subscriber.toml").read_text() + 'name = "other.example"\n'
    subscriber = run(WATCHED, f"tcp://localhost:{port_of(publisher)}", policy=put(folder / "other.toml", text))
    assert line_of(subscriber) == "connecting"
    assert line_of(subscriber).startswith("refused")


def test_a_fingerprint_tells_one_certificate_from_all_others_of_the_authority(run, folder):
    text = (folder / "subscriber.toml").read_text()
    for certificate, heard in (("server.pem", "connected"), ("client.pem", "refused")):
        publisher = run(PUBLISHER, policy=folder / "publisher.toml")
        policy = put(folder / "print.toml", text + f'fingerprints = "{fingerprint(folder / certificate)}"\n')
        # A name that the certificate does not have: the fingerprint stands for it.
        subscriber = run(WATCHED, f"tcp://127.0.0.2:{port_of(publisher)}", policy=policy)
        assert line_of(subscriber) == "connecting"
        assert line_of(subscriber).startswith(heard), certificate


BIND = """
import sys, zmq
context = zmq.Context()
socket = context.socket(zmq.PULL)
try:
    socket.bind(sys.argv[1])
    print("bound", socket.last_endpoint.decode())
except zmq.ZMQError as refusal:
    print(refusal.errno)
inproc = context.socket(zmq.PULL)
inproc.bind("inproc://name")
context.destroy(linger=0)
"""


def test_what_no_entry_matches_is_refused_and_says_so(run, folder):
    policy = folder / "publisher.toml"
    refused = run(BIND, "ipc:///tmp/zlink-policy-test", policy=policy)
    out, err = refused.communicate(timeout=PATIENCE)
    assert out == "13\n"
    assert f"zlink: bind to ipc:///tmp/zlink-policy-test is refused: {policy}: no entry of the policy matches it\n" in err


@pytest.mark.parametrize("text,line,words", [
    ('default = "clear"\n[[entry]]\nuse = "clear"\nport = "x"\n', 4, "port"),
    ('default = "clear"\nzap = "users.toml"\n', 2, "there is no key zap"),
    ("default = \n", 1, ""),
])
def test_a_file_that_is_not_understood_refuses_all_but_inproc(run, tmp_path, text, line, words):
    policy = put(tmp_path / "policy.toml", text)
    out, err = run(BIND, "tcp://127.0.0.1:*", policy=policy).communicate(timeout=PATIENCE)
    assert out == "13\n"
    assert f"zlink: bind to tcp://127.0.0.1:* is refused: {policy}:{line}: {words}" in err


@pytest.mark.parametrize("path", ["/nowhere/policy.toml", "policy.toml", ""])
def test_a_file_that_is_not_there_refuses_all_but_inproc(run, path):
    out, err = run(BIND, "tcp://127.0.0.1:*", policy=path).communicate(timeout=PATIENCE)
    assert out == "13\n"
    assert "is refused" in err


def test_a_key_that_others_may_read_refuses_all(run, folder):
    (folder / "server.key").chmod(0o644)
    policy = folder / "publisher.toml"
    out, err = run(BIND, "tcp://127.0.0.1:*", policy=policy).communicate(timeout=PATIENCE)
    assert out == "13\n"
    assert re.search(rf"{policy}:\d+: {folder}/server.key holds a secret, and may be read by others", err), err


def test_a_program_without_a_policy_is_as_ever(run):
    out, err = run(BIND, "tcp://127.0.0.1:*").communicate(timeout=PATIENCE)
    assert out.startswith("bound tcp://127.0.0.1:") and err == ""


def test_a_process_that_obeys_says_so_when_asked(run, tmp_path):
    policy = put(tmp_path / "policy.toml", 'default = "clear"\nannounce = true\n')
    out, err = run(BIND, "tcp://127.0.0.1:*", policy=policy).communicate(timeout=PATIENCE)
    assert out.startswith("bound")
    assert err == f"zlink: the policy {policy} is in force: 0 entries, others are clear\n"
