"""zlink stats and zlink top: what a process tells of its sockets and peers. The process is zlink itself, and libzmq its peer."""

import fcntl
import http.client
import http.server
import json
import os
import pty
import re
import select
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


@pytest.fixture
def pulling(start, peer):
    """A process that has taken three messages, and tells what it does as asked."""

    def begin(where):
        program = start("pull", "@tcp://127.0.0.1:*", "-v", env=dict(os.environ, ZLINK_METRICS=where))
        push = peer(zmq.PUSH).socket
        push.routing_id = b"pusher"
        push.connect(program.bound())
        for _ in range(3):
            push.send(b"x")
        for _ in range(3):
            assert program.line() == b"x\n"
        program.push = push
        return program

    return begin


def pid(program):
    return str(program.process.pid)


def test_the_numbers_of_a_process_are_found_by_its_number(pulling, tmp_path):
    program = pulling(f"unix:{tmp_path}/zlink-%p")
    said = run("stats", pid(program)).decode()
    assert re.search(r"^PULL +#\d+ tcp://127.0.0.1:\d+ +messages_received +3$", said, re.M)
    assert json.loads(run("stats", pid(program), "-f", "json"))["process"] == program.process.pid
    assert re.search(rb'^zlink_messages_received_total\{.*type="PULL"\} 3$', run("stats", pid(program), "-f", "prometheus"), re.M)
    assert run("stats", f"unix:{tmp_path}/zlink-{pid(program)}", "-f", "openmetrics").endswith(b"# EOF\n")
    assert re.search(rb"PULL .* messages_received +3$", run("stats", pid(program), "--peers"), re.M)
    assert json.loads(run("stats", pid(program), "--peers", "-f", "json"))["peers"][0]["state"] == "ready"
    run("stats", pid(program), "--peers", "-f", "prometheus", status=2)
    for other in (("--peers",), ("-f", "json")):
        run("stats", pid(program), "--listen", ":9464", *other, status=2)


def test_run_has_a_program_tell_its_numbers():
    assert run("run", "--metrics", "unix:/tmp/zlink-%p", "--", "sh", "-c", "echo $ZLINK_METRICS") == b"unix:/tmp/zlink-%p\n"


def test_of_a_range_of_ports_each_process_is_found_at_its_own(pulling, free_port):
    first = int(free_port.rpartition(":")[2]) + 1
    where = f"tcp://127.0.0.1:{first}-{first + 20}"
    for program in [pulling(where), pulling(where)]:
        assert json.loads(run("stats", pid(program), "-f", "json"))["process"] == program.process.pid
        run("stats", pid(program), "--peers", status=5)  # not at tcp:, unless it is asked for


def test_a_process_that_tells_nothing_is_named(start, pulling, tmp_path, free_port):
    silent = start("pull", "@tcp://127.0.0.1:*", "-v", env={k: v for k, v in os.environ.items() if k != "ZLINK_METRICS"})
    silent.bound()
    run("stats", pid(silent), status=4)
    assert "ZLINK_METRICS=" in run.err
    run("top", "--once", "999999999", status=4)
    run("top", "--once", free_port, status=4)
    run("stats", f"unix:{tmp_path}/none", status=4)
    run("stats", "nonsense", status=2)
    run("stats", "", status=2)
    (tmp_path / "other").write_text("zlink\n", encoding="utf-8")
    run("stats", f"file:{tmp_path}/other", status=6)
    taken = tmp_path / "taken"
    pulling(f"unix:{taken}")
    second = pulling(f"unix:{taken}")
    run("stats", pid(second), status=4)
    assert "tells the numbers of the process" in run.err


def ask(where, path, host=None, method="GET", **fields):
    """The status, the type and the text that are answered there."""
    connection = http.client.HTTPConnection(*where, timeout=LIMIT)
    connection.request(method, path, headers={"Host": host or f"{where[0]}:{where[1]}", **fields})
    answer = connection.getresponse()
    told = answer.status, answer.getheader("Content-Type"), answer.read().decode()
    connection.close()
    return told


@pytest.fixture
def exporting(start, free_port):
    """An exporter of a target, and where it answers."""

    def begin(target, more="", **how):
        first = int(free_port.rpartition(":")[2]) + 1
        exporter = start("stats", target, "--listen", f"127.0.0.1:{first}-{min(first + 50, 65535)}{more}", **how)
        found = exporter.until(r"are at http://([\d.]+):(\d+)/metrics")
        exporter.said = found.string
        return exporter, (found.group(1), int(found.group(2)))

    return begin


def says_once(exporter, pattern):
    exporter.until(pattern)
    exporter.process.send_signal(signal.SIGTERM)
    assert exporter.process.wait(LIMIT) == 130
    assert exporter.process.stderr.read() == b""


@pytest.mark.parametrize("kind", ["unix", "file"])
def test_another_process_is_told_of_over_http(pulling, exporting, tmp_path, kind):
    program = pulling(f"{kind}:{tmp_path}/zlink-%p")
    exporter, where = exporting(pid(program))
    until = time.monotonic() + LIMIT
    while not re.search(r'^zlink_messages_received_total\{.*type="PULL"\} 3$', (told := ask(where, "/metrics"))[2], re.M):
        assert time.monotonic() < until  # a file is written once a second
    assert told[:2] == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert json.loads(ask(where, "/metrics.json")[2])["process"] == program.process.pid
    assert ask(where, "/healthz") == (200, "text/plain", "ok\n")
    for path in ("/peers", "/other"):
        assert ask(where, path)[0] == 404
    open_text = ask(where, "/metrics", Accept="application/openmetrics-text")
    assert open_text[2].endswith("# EOF\n") == open_text[1].startswith("application/openmetrics-text") == (kind == "unix")
    assert kind == "unix" or run("stats", f"file:{tmp_path}/zlink-{pid(program)}", "-f", "prometheus").startswith(b"# HELP zlink_build_info")
    program.process.kill()
    program.process.wait()
    for path, status in [("/metrics", 503), ("/other", 404), ("/healthz", 503), ("/metrics.json", 503)]:
        assert ask(where, path)[0] == status
    says_once(exporter, "has ended" if kind == "file" else "nobody tells numbers")


def test_an_exporter_answers_as_the_library_does(pulling, exporting, tmp_path):
    pulling(f"unix:{tmp_path}/zlink")
    _, where = exporting(f"unix:{tmp_path}/zlink", "?host=board.example&peers=1")
    for host, expected in [("localhost", 200), ("board.example", 200), ("[::1]:9464", 200), ("evil.example", 403)]:
        assert ask(where, "/metrics", host=host)[0] == expected
    assert ask(where, "/metrics", method="POST")[0] == 405
    for path, status in [("/healthz", 200), ("/other", 404)]:
        assert ask(where, path, method="HEAD") == (status, "text/plain", "")
    assert json.loads(ask(where, "/peers")[2])["peers"][0]["state"] == "ready"


@pytest.mark.parametrize("where, status", [("0.0.0.0:9464", 2), ("[::]:9464", 2), ("192.0.2.1:9464", 2), ("host.example:9464", 2), (":0", 2), (":", 2), ("unix:/tmp/x", 2),
                                           ("file:/tmp/x", 2), ("", 2), ("127.0.0.1:9464?path=x", 2)])
def test_an_exporter_listens_to_its_own_machine_unless_it_is_told(where, status, tmp_path):
    run("stats", f"file:{tmp_path}/none", "--listen", where, status=status, env={k: v for k, v in os.environ.items() if k != "ZLINK_METRICS_ANY"})


def test_an_exporter_is_told_to_listen_to_other_machines(exporting, start, free_port, tmp_path):
    first = int(free_port.rpartition(":")[2]) + 1
    exporter = start("stats", f"file:{tmp_path}/none", "--listen", f"0.0.0.0:{first}-{min(first + 50, 65535)}", env=dict(os.environ, ZLINK_METRICS_ANY="1"))
    assert ask(("127.0.0.1", int(exporter.until(r"http://0.0.0.0:(\d+)/").group(1))), "/metrics")[0] == 503
    _, where = exporting(f"file:{tmp_path}/none")
    run("stats", f"file:{tmp_path}/none", "--listen", f":{where[1]}", status=4)
    assert "in use" in run.err


@pytest.mark.parametrize("kind", ["unix", "file"])
def test_a_process_that_came_to_the_address_of_another_is_not_told_of_as_that(pulling, exporting, tmp_path, kind):
    first = pulling(f"{kind}:{tmp_path}/zlink")
    exporter, where = exporting(pid(first))
    first.process.kill()
    first.process.wait()
    second = pulling(f"{kind}:{tmp_path}/zlink")
    assert json.loads(run("stats", f"{kind}:{tmp_path}/zlink", "-f", "json"))["process"] == second.process.pid
    for path in ("/metrics", "/metrics.json", "/healthz"):
        assert ask(where, path)[0] == 503
    says_once(exporter, f"tells the numbers of the process {pid(second)}")


def test_an_exporter_of_one_that_has_no_answer_has_none(exporting, tmp_path):
    _, inner = exporting(f"file:{tmp_path}/none")
    exporter, where = exporting("tcp://%s:%d" % inner)
    for path, status in [("/metrics", 503), ("/other", 404), ("/healthz", 503), ("/metrics.json", 503)]:
        assert ask(where, path)[0] == status
    says_once(exporter, "answers: 503 Service Unavailable")


def test_an_exporter_ends_while_the_other_side_goes_on_with_its_answer(exporting):
    is_asked, is_over = threading.Event(), threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        def answer():
            server.accept()[0].close()  # of the look before it says where it answers
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                is_asked.set()
                try:
                    while not is_over.wait(0.01):
                        connection.sendall(b"x")
                except OSError:
                    pass
        thread = threading.Thread(target=answer)
        thread.start()
        exporter, where = exporting("tcp://127.0.0.1:%d" % server.getsockname()[1])
        with socket.create_connection(where) as client:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert is_asked.wait(LIMIT)
            exporter.process.send_signal(signal.SIGTERM)
            try:
                exporter.end(status=130)
            finally:
                is_over.set()
                thread.join()


def test_who_waits_for_a_process_that_has_no_answer_keeps_nobody_else_waiting(exporting):
    request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
    text = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=lambda: server.accept()[0].close()).start()  # the look before
        exporter, where = exporting("tcp://127.0.0.1:%d" % server.getsockname()[1])
        server.settimeout(LIMIT)
        clients = [socket.create_connection(where) for _ in range(3)]
        for each in clients:
            each.sendall(request)
        asked = [server.accept()[0] for _ in clients]  # nobody has been answered until then
        for each in asked:
            each.settimeout(LIMIT)
            assert each.recv(1000).startswith(b"GET /metrics ")
        assert ask(where, "/nowhere")[0] == 404
        for each in asked:
            each.sendall(text)
            each.close()
        for each in clients:
            each.settimeout(LIMIT)
            assert each.recv(9) == b"HTTP/1.1 "
            each.close()
        exporter.process.send_signal(signal.SIGTERM)
        assert exporter.process.wait(LIMIT) == 130


def test_an_exporter_says_where_there_will_be_numbers_and_why_there_are_none(exporting, pulling, tmp_path):
    exporter, where = exporting(f"unix:{tmp_path}/zlink")
    assert "nobody tells numbers at" in exporter.said and "as soon as there are any" in exporter.said
    pulling(f"unix:{tmp_path}/zlink")
    assert ask(where, "/metrics")[0] == 200
    other, _ = exporting(f"unix:{tmp_path}/zlink")
    assert other.said.startswith("zlink: the numbers of ")


def test_a_port_alone_is_one_of_this_machine(start, free_port, tmp_path):
    first = int(free_port.rpartition(":")[2]) + 1
    exporter = start("stats", f"file:{tmp_path}/none", "--listen", f"{first}-{min(first + 50, 65535)}")
    assert ask(("127.0.0.1", int(exporter.until(r"http://127.0.0.1:(\d+)/").group(1))), "/metrics")[0] == 503


def test_a_peer_whose_routing_id_was_taken_has_gone(start, peer, tmp_path):
    router = start("router", "tcp://127.0.0.1:*", "-v", "-o", "router_handover=1", stdin=subprocess.PIPE, env=dict(os.environ, ZLINK_METRICS=f"unix:{tmp_path}/zlink"))
    endpoint = router.bound()
    for _ in range(2):
        dealer = peer(zmq.DEALER).socket
        dealer.routing_id = b"twin"
        dealer.reconnect_ivl = -1
        dealer.connect(endpoint)
        dealer.send(b"x")
        assert router.line()
    until = time.monotonic() + LIMIT
    while not (gone := json.loads(run("stats", pid(router), "--peers", "-f", "json"))["gone"]):
        assert time.monotonic() < until
    assert [(each["routing_id"], each["event"], each["reason"], each["times"]) for each in gone] == [("twin", "disconnects", "handover", 1)]


def test_the_socket_of_a_process_goes_with_it_and_not_that_of_another(pulling, tmp_path):
    path = tmp_path / "zlink"
    program = pulling(f"unix:{path}")
    assert path.exists()
    program.process.send_signal(signal.SIGTERM)
    program.process.wait(LIMIT)
    assert not path.exists()
    program = pulling(f"unix:{path}")
    path.unlink()
    path.write_text("another's")
    program.process.send_signal(signal.SIGTERM)
    program.process.wait(LIMIT)
    assert path.read_text() == "another's"


def test_a_process_that_is_stopped_is_not_well_and_its_last_numbers_are_told(pulling, exporting, tmp_path):
    program = pulling(f"file:{tmp_path}/zlink")
    file = tmp_path / "zlink"
    program.process.send_signal(signal.SIGSTOP)
    _, where = exporting(f"file:{file}")
    octets = file.read_bytes()
    file.write_bytes(re.sub(rb'"time":(\d+)', lambda found: b'"time":%d' % (int(found.group(1)) - 60), octets))  # a minute ago
    assert ask(where, "/healthz")[0] == 503
    assert ask(where, "/metrics")[0] == 200
    program.process.send_signal(signal.SIGCONT)
    until = time.monotonic() + LIMIT
    while ask(where, "/healthz")[0] != 200:
        assert time.monotonic() < until


def test_something_else_that_answers_is_told():
    with socket.create_server(("127.0.0.1", 0)) as server:
        def answer():
            for words in (b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\n\r\nhello", b"HTTP/1.1 403 Forbidden\r\n\r\n"):
                connection, _ = server.accept()
                with connection:
                    connection.recv(1000)
                    connection.sendall(words)
        thread = threading.Thread(target=answer)
        thread.start()
        where = "tcp://127.0.0.1:%d" % server.getsockname()[1]
        for status in (6, 6, 5):
            run("top", where, "--once", status=status)
        thread.join()


def test_an_answer_that_breaks_off_is_none():
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"
    with socket.create_server(("127.0.0.1", 0)) as server:
        def answer():
            for words in (b"", b"HTT", b"HTTP/1.1 200 OK\r\nContent-Le", whole):
                connection, _ = server.accept()
                with connection:
                    connection.recv(1000)
                    connection.sendall(words)
        thread = threading.Thread(target=answer)
        thread.start()
        where = "tcp://127.0.0.1:%d" % server.getsockname()[1]
        for _ in range(4):
            run("top", where, "--once", status=4)
        thread.join()


def test_a_process_that_dies_in_the_middle_of_an_answer_has_ended(start):
    text = b'{"process":%d,"time":1.0,"sockets":[]}' % os.getpid()
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)
    with socket.create_server(("127.0.0.1", 0)) as server:
        top = start("top", "tcp://127.0.0.1:%d" % server.getsockname()[1], "-d", "0.05")
        for words in (whole, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", whole[:-1]):
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(words)
        top.end(status=7)


def looks_at(peers, gone, whole="true"):
    """What top makes of a process that tells, look by look, these peers and those that have gone. All else is what it must be."""
    looks = iter(range(len(peers)))
    now = 0

    class Answer(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            nonlocal now
            head = {"process": os.getpid(), "time": float(now)}
            if self.path == "/metrics.json":
                now = next(looks, now)
                text = json.dumps(dict(head, time=now + 1000.0, sockets=[]))
            else:
                name = {"context": "1", "socket": "#1", "type": "PULL"}
                rows = [dict(name, endpoint="ipc://x", ready_seconds=now + 0.5, state="ready", **each) for each in peers[now]]
                ends = [dict(name, event="disconnects", reason="peer", **each) for each in gone[now]]
                text = json.dumps(dict(head, is_whole=True, peers=rows, others=[], gone=ends)).replace('"is_whole": true', f'"is_whole": {whole}')
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        said = run("top", f"tcp://127.0.0.1:{server.server_port}", "--json", "-d", "0.05", "-n", str(len(peers) - 1))  # the first table has two looks
        server.shutdown()
        thread.join()
    return [json.loads(line) for line in said.splitlines()]


def test_a_peer_is_not_quiet_while_the_application_takes_nothing():
    talking = [[{"id": 1, "messages_received": 5, "queue_messages_in": waiting}] for waiting in (0, 3, 3, 4)]
    assert [told["peers"][0]["quiet_seconds"] for told in looks_at(talking, [[]] * 4)] == [0, 0, 0]
    silent = [[{"id": 1, "messages_received": 5, "queue_messages_in": 0}]] * 4
    assert [told["peers"][0]["quiet_seconds"] for told in looks_at(silent, [[]] * 4)] == [1, 2, 3]


def test_peers_without_a_name_are_quiet_each_for_itself():
    peers = [[{"id": 1, "messages_received": count, "queue_messages_in": 0}, {"id": 2, "messages_received": 5, "queue_messages_in": 0}] for count in (5, 6, 7)]
    assert {each["id"]: each["quiet_seconds"] for each in looks_at(peers, [[]] * 3)[-1]["peers"]} == {1: 0, 2: 2}


@pytest.mark.parametrize("whole, newcomer", [("true", 2), ("false", 0)])
def test_how_often_a_peer_has_gone_since_the_look_before(whole, newcomer):
    before = [{"address": "often", "times": 7}, {"address": "forgotten meanwhile", "times": 9}]
    after = [{"address": "often", "times": 10}, {"address": "forgotten meanwhile", "times": 1}, {"address": "newcomer", "times": 2}]
    (told,) = looks_at([[]] * 2, [before, after], whole)
    assert {each["address"]: each["times_since"] for each in told["gone"]} == {"often": 3, "forgotten meanwhile": 1, "newcomer": newcomer}


def test_a_table_has_the_rates_of_its_time(pulling, start, tmp_path):
    program = pulling(f"unix:{tmp_path}/zlink")
    top = start("top", f"unix:{tmp_path}/zlink", "--json", "-d", "0.05", "--sort", "in")
    told = json.loads(top.line())
    while not (row := told["sockets"][0])["received_rate"]:
        program.push.send(b"x")
        told = json.loads(top.line())
    assert row["type"] == "PULL" and told["interval"] > 0
    assert row["received_rate"] == pytest.approx(round(row["received_rate"] * told["interval"]) / told["interval"], rel=0.01)
    assert told["peers"][0]["state"] == "ready"
    top.process.send_signal(signal.SIGINT)
    top.end(status=130)


def test_without_a_terminal_there_are_tables_one_below_the_other(pulling, tmp_path):
    program = pulling(f"unix:{tmp_path}/zlink-%p")
    said = run("top", pid(program), "-n", "2", "-d", "0.05").decode()
    assert "\x1b" not in said and said.count("DROPPED") == 4 and said.count("PEER ") == 2
    assert re.search(r"^#\d+ tcp://127.0.0.1:\d+~? +PULL +1 +0 +0 +0 +0 +0 +0$", said, re.M)


def test_a_process_that_ends_ends_the_table(pulling, start, tmp_path):
    program = pulling(f"unix:{tmp_path}/zlink")
    top = start("top", f"unix:{tmp_path}/zlink", "-d", "0.05")
    assert pid(program).encode() in top.line()
    program.process.kill()
    top.end(status=7)


def test_a_file_tells_of_a_process_that_is_stopped_and_of_one_that_was_killed(pulling, tmp_path):
    program = pulling(f"file:{tmp_path}/zlink")
    while '"messages_received":3,' not in run("stats", pid(program), "-f", "json").decode():
        pass  # the text comes once a second
    program.process.send_signal(signal.SIGSTOP)
    assert re.search(rb"PULL .* messages_received +3$", run("stats", pid(program)), re.M)
    program.process.kill()
    program.process.wait()
    assert b"has ended" in run("top", f"file:{tmp_path}/zlink", "--once")
    run("top", f"{tmp_path}/zlink", status=7)
    run("stats", f"{tmp_path}/zlink")
    assert "has ended" in run.err
    run("stats", f"{tmp_path}/zlink", "-f", "prometheus", status=4)
    run("stats", f"{tmp_path}/zlink", "-f", "openmetrics", status=2)


class Terminal:
    """The command on a terminal of this size."""

    def __init__(self, arguments, width, height, **environment):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        environment = dict(os.environ, TERM="xterm", **environment)
        self.master, self.said = master, ""
        self.process = subprocess.Popen([COMMAND, *arguments], stdin=slave, stdout=slave, stderr=slave, env=environment)
        os.close(slave)

    def until(self, pattern):
        while not (found := re.search(pattern, self.said)):
            assert select.select([self.master], [], [], LIMIT)[0], self.said
            self.said += os.read(self.master, 65536).decode()
        return found

    def end(self):
        self.until(r"\x1b\[\?1049l")
        assert self.process.wait(LIMIT) == 0
        os.close(self.master)
        return self.said


@pytest.mark.parametrize("width, colour", [(120, "1"), (44, ""), (7, "1")])
def test_on_a_terminal_it_is_drawn_in_place_until_q(pulling, tmp_path, width, colour):
    program = pulling(f"unix:{tmp_path}/zlink-%p")
    terminal = Terminal(["top", pid(program), "-d", "0.05"], width, 6, NO_COLOR=colour)
    terminal.until(r"\x1b\[H[^\x1b](?s:.*)\x1b\[H[^\x1b]")
    os.write(terminal.master, b"q")
    said = terminal.end()
    assert said.startswith("\x1b[?1049h\x1b[?25l") and "\x1b[?25h" in said
    assert ("\x1b[7m" in said) == (colour == "")
    frame = re.search(r"\x1b\[H(.*?)\x1b\[J", said, re.S).group(1)
    lines = re.sub(r"\x1b\[[0-9]*[mK]", "", frame).split("\r\n")
    assert len(lines) <= 6 and max(map(len, lines)) <= width
    assert ("RETRIES" in frame) == (width == 120)


@pytest.mark.parametrize("where", ["tcp", "ws"])
def test_the_time_of_heartbeats_is_told_whatever_carries_them(start, tmp_path, where):
    numbers = f"unix:{tmp_path}/numbers"
    listener = start("pull", f"@{where}://127.0.0.1:*", "-v", "-o", "heartbeat_ivl=20", "-o", "heartbeat_timeout=60000", env=dict(os.environ, ZLINK_METRICS=numbers))
    start("push", ">" + listener.bound(), stdin=subprocess.PIPE)
    until = time.monotonic() + LIMIT
    while not re.search(rb"^zlink_heartbeat_rtt_seconds_count\{.*\} [1-9]", run("stats", numbers, "-f", "prometheus"), re.M):
        assert listener.process.poll() is None and time.monotonic() < until
