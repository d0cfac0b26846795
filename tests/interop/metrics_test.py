"""ZLINK_METRICS: the numbers of a program that nobody has changed, as Prometheus and others read them. The program is pyzmq's."""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import stat
import subprocess
import time
import urllib.parse

import prometheus_client.openmetrics.parser
import prometheus_client.parser
import pytest

PYTHON = "/usr/bin/python3"
OURS = os.environ["ZLINK_LIBRARY_DIR"]
PATIENCE = 60

# Says when it has done its part, and goes on until its input ends.
PROGRAM = """
import os, sys, zmq
if "limit" in sys.argv:
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
context = zmq.Context()
pull, push = context.socket(zmq.PULL), context.socket(zmq.PUSH)
pull.bind("inproc://work")
push.connect("inproc://work")
for i in range(5):
    push.send(b"x")
pull.recv()
router = context.socket(zmq.ROUTER)
router.send_multipart([b"nobody", b"x"])
if "network" in sys.argv:
    dealer = context.socket(zmq.DEALER)
    dealer.routing_id = b"seven"
    dealer.heartbeat_ivl = 5 if "heartbeat" in sys.argv else 0
    dealer.connect("tcp://127.0.0.1:%d" % router.bind_to_random_port("tcp://127.0.0.1"))
    dealer.send(b"hello")
    router.recv_multipart()
if "heartbeat" in sys.argv:
    publisher = context.socket(zmq.PUB)
kept = []
for mode, contexts, sockets in (("paths", 4, 70), ("names", 4, 70), ("contexts", 20, 2)):
    if mode not in sys.argv:
        continue
    import ctypes, tempfile
    library = ctypes.CDLL("libzmq.so.5")
    folder = tempfile.mkdtemp()
    kinds = [zmq.PUB, zmq.SUB, zmq.PUSH, zmq.PULL, zmq.REQ, zmq.REP, zmq.DEALER, zmq.ROUTER, zmq.XPUB, zmq.XSUB, zmq.PAIR]
    for _ in range(contexts):
        more = zmq.Context()
        for _ in range(sockets):
            made = more.socket(kinds[len(kept) % len(kinds)])
            if mode == "names":
                name = b'"' * 60 + b"%d" % (1000 + len(kept))
                assert library.zmq_setsockopt(ctypes.c_void_p(made.underlying), 0x5A20, name, len(name)) == 0
            made.bind("ipc://%s/%s%d" % (folder, "n" * (60 - len(folder)), len(kept)))
            if made.type == zmq.PUB:
                made.send(b"nobody")
            kept.append(made)
if "elsewhere" in sys.argv:
    os.chdir("/")
print("ready", flush=True)
if "fork" in sys.argv and os.fork() == 0:
    child = zmq.Context()
    child.socket(zmq.PUSH)
    print("child", flush=True)
    os._exit(0 if sys.stdin.readline() else 1)
if "fork" in sys.argv:
    os.wait()
sys.stdin.readline()
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Program:
    def __init__(self, where, *arguments, says="ready", cwd=None, **more):
        environment = dict(os.environ, LD_LIBRARY_PATH=OURS, ZLINK_METRICS=where, **more)
        self.process = subprocess.Popen(
            [PYTHON, "-c", PROGRAM, *arguments],
            env=environment, cwd=cwd, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        self.heard = []
        while says not in self.heard:
            line = self.process.stdout.readline()
            assert line, self.process.communicate()[1]
            self.heard.append(line.strip())

    def end(self):
        _, errors = self.process.communicate("\n", timeout=PATIENCE)
        assert self.process.returncode == 0, errors
        return errors

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.returncode is None:
            self.process.kill()
            self.process.communicate()


def ask(port, path="/metrics", host="127.0.0.1", method="GET", **fields):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request(method, path, headers={"Host": f"{host}:{port}", **fields})
    answer = connection.getresponse()
    return answer.status, answer.getheader("Content-Type"), answer.read().decode()


def value(text, pattern):
    found = re.findall(rf"^{pattern} (\S+)$", text, re.M)
    assert len(found) == 1, (pattern, text)
    return float(found[0])


def families(parser, text):
    """As Prometheus' own library for Python reads them, which is strict about OpenMetrics."""
    return {each.name: each for each in parser.text_string_to_metric_families(text)}


def test_a_program_that_nobody_has_changed_tells_what_it_does():
    port = free_port()
    with Program(f"tcp://127.0.0.1:{port}") as program:
        status, kind, text = ask(port)
        assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
        assert value(text, r'zlink_messages_sent_total\{[^}]*type="PUSH"\}') == 5
        assert value(text, r'zlink_queue_messages\{[^}]*type="PULL",direction="in"\}') == 4
        assert value(text, r'zlink_messages_dropped_total\{[^}]*type="ROUTER",reason="unroutable"\}') == 1
        [build] = families(prometheus_client.parser, text)["zlink_build_info"].samples
        assert build.value == 1 and build.labels["version"].startswith("zlink ") and build.labels["abi"] == "libzmq.so.5"
        assert {build.labels[each] for each in ("tls", "curve")} <= {"yes", "no"} and re.fullmatch(r"1_\d+(_\d+)?", build.labels["boost"])
        sent = families(prometheus_client.parser, text)["zlink_messages_sent"]
        assert sent.type == "counter" and sum(each.value for each in sent.samples) == 5
        assert value(text, r'zlink_sockets\{[^}]*type="PULL"\}') == 1
        status, kind, text = ask(port, Accept="application/openmetrics-text;version=1.0.0;q=0.5,text/plain")
        assert (status, kind) == (200, "application/openmetrics-text; version=1.0.0; charset=utf-8")
        assert text.endswith("# EOF\n")
        assert families(prometheus_client.openmetrics.parser, text)["zlink_queue_messages"].type == "gauge"
        told = json.loads(ask(port, "/metrics.json")[2])
        assert [each["messages_sent"] for each in told["sockets"] if each["type"] == "PUSH"] == [5]
        assert ask(port, "/healthz")[::2] == (200, "ok\n")
        assert program.end() == ""


@pytest.fixture(scope="module")
def prometheus():
    """The programs of Debian's Prometheus, which is fetched once and never installed: it would start a service."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "zlink-tests" / "prometheus"
    programs = cache / "usr/bin"
    if not all((programs / each).exists() for each in ("promtool", "prometheus")):
        cache.mkdir(parents=True, exist_ok=True)
        try:
            done = subprocess.run(["apt-get", "download", "prometheus"], cwd=cache, capture_output=True, text=True, check=False, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            pytest.skip(f"Prometheus cannot be fetched: apt-get has not answered for {PATIENCE} s")
        packages = list(cache.glob("prometheus_*.deb"))
        if done.returncode != 0 or not packages:
            pytest.skip(f"Prometheus cannot be fetched: {done.stderr.strip()}")
        subprocess.run(["dpkg", "-x", packages[0], cache], check=True)
        for each in packages:
            each.unlink()
    return programs


def test_prometheus_itself_has_nothing_to_say_against_the_text(prometheus):
    port = free_port()
    with Program(f"tcp://127.0.0.1:{port}"):
        text = ask(port)[2]
    done = subprocess.run([prometheus / "promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


class Scraper:
    """Prometheus, which asks the program at a port twice a second, and keeps what it hears in a folder."""

    def __init__(self, programs, folder, target):
        self.port = free_port()
        config = folder / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 500ms, scrape_timeout: 500ms}\n"
            f"scrape_configs: [{{job_name: zlink, static_configs: [{{targets: ['127.0.0.1:{target}']}}]}}]\n",
            encoding="utf-8",
        )
        self.log = open(folder / "log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [
                programs / "prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.port}", f"--web.console.templates={folder}", f"--web.console.libraries={folder}",
            ],
            cwd=folder, stdout=self.log, stderr=subprocess.STDOUT,
        )

    def ask(self, query):
        """The values of a query by their labels; none while Prometheus does not answer yet."""
        try:
            found = json.loads(ask(self.port, "/api/v1/query?query=" + urllib.parse.quote(query))[2])
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            return []
        return [(each["metric"], float(each["value"][1])) for each in found["data"]["result"]] if found["status"] == "success" else []

    def hears(self, query, is_right):
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            found = self.ask(query)
            if is_right(found):
                return found
        self.log.seek(0)
        raise AssertionError((query, self.ask(query), self.log.read()[-2000:]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def test_prometheus_itself_scrapes_the_right_numbers(prometheus, tmp_path):
    port = free_port()
    with Program(f"tcp://127.0.0.1:{port}", "network", "heartbeat") as program, Scraper(prometheus, tmp_path, port) as scraper:
        [(labels, value)] = scraper.hears('zlink_messages_received_total{type="PULL"}', lambda found: len(found) == 1)
        assert value == 1 and labels["job"] == "zlink" and labels["context"] == "1"
        assert [each[1] for each in scraper.ask("sum(zlink_messages_sent_total)")] == [6]
        assert [each[1] for each in scraper.ask('zlink_messages_dropped_total{type="ROUTER",reason="unroutable"}')] == [1]
        assert [each[1] for each in scraper.ask('up{job="zlink"}')] == [1]
        scraper.hears("histogram_quantile(0.5, sum by (le) (zlink_heartbeat_rtt_seconds_bucket)) > 0", lambda found: len(found) == 1)
        program.end()
        scraper.hears('up{job="zlink"}', lambda found: [each[1] for each in found] == [0])


def test_the_board_for_grafana_asks_for_what_is_there():
    board = (pathlib.Path(__file__).parents[2] / "examples" / "grafana" / "zlink.json").read_text(encoding="utf-8")
    asked = set(re.findall(r"\bzlink_[a-z_]+(?=\{)", board))
    port = free_port()
    with Program(f"tcp://127.0.0.1:{port}", "network", "heartbeat"):
        text = ask(port)[2]
        until = time.monotonic() + PATIENCE
        while "zlink_heartbeat_rtt_seconds_count{" not in text and time.monotonic() < until:
            text = ask(port)[2]
        told = set(re.findall(r"^(zlink_[a-z_]+)\{", text, re.M))
    assert asked and asked <= told, asked - told


def test_nothing_is_told_to_a_page_whose_name_leads_here_nor_to_other_methods_and_paths():
    port = free_port()
    with Program(f"tcp://127.0.0.1:{port}?host=node-7&host=node-7.example"):
        assert ask(port, host="evil.example")[0] == 403
        for host in ("localhost", "[::1]", "10.1.2.3", "node-7", "NODE-7.example"):
            assert ask(port, host=host)[0] == 200, host
        assert ask(port, method="POST")[0] == 405
        assert ask(port, "/peers")[0] == 404
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as raw:
            raw.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 9000)
            assert raw.recv(100).startswith(b"HTTP/1.1 431 ")
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as raw:
            raw.sendall(b"\x16\x03\x01\r\n\r\n")
            assert raw.recv(100).startswith(b"HTTP/1.1 400 ")


def test_who_says_nothing_holds_back_nobody():
    port = free_port()
    with Program(f"tcp://127.0.0.1:{port}"):
        silent = [socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) for _ in range(7)]
        assert ask(port)[0] == 200
        for each in silent:
            assert each.recv(1) == b""  # after five seconds
            each.close()
        assert ask(port)[0] == 200


def test_an_address_that_is_taken_costs_a_line_and_nothing_else():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with Program(f"tcp://127.0.0.1:{port}") as program:
            assert program.end() == (
                f"zlink: metrics: cannot listen at tcp://127.0.0.1:{port}: Address already in use\n"
            )


def test_of_a_range_of_ports_the_first_is_taken_that_is_free():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with Program(f"tcp://127.0.0.1:{port}-{min(port + 20, 65535)}") as program:
            found = [each for each in range(port + 1, port + 21) if is_metrics(each)]
            assert found
            assert program.end() == ""


def is_metrics(port):
    try:
        return ask(port, "/healthz")[::2] == (200, "ok\n")
    except (OSError, http.client.HTTPException):  # nobody, or a stranger
        return False


@pytest.mark.parametrize(
    "where, why",
    [
        ("9464", "it begins with tcp://, unix: or file:"),
        ("tcp://127.0.0.1", "a port, or a first and a last one, is missing"),
        ("tcp://0.0.0.0:9464", "other machines could read it there, which ZLINK_METRICS_ANY=1 allows"),
        ("tcp://example.org:9464", "the host is an address in numbers, or localhost"),
        ("unix:", "a path is missing"),
        ("file:", "a path is missing"),
    ],
)
def test_what_is_no_address_is_said_and_ignored(where, why):
    with Program(where) as program:
        assert program.end().startswith(f"zlink: metrics: ZLINK_METRICS={where} is ignored: {why}")


def ask_path(path, what):
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(PATIENCE)
        raw.connect(str(path))
        raw.sendall(f"GET {what} HTTP/1.1\r\nHost: anything\r\n\r\n".encode())
        return b"".join(iter(lambda: raw.recv(65536), b""))


def sum_of(found, name):
    return sum(each.value for each in found[name].samples if not each.name.endswith("_created"))


@pytest.mark.parametrize("mode, contexts, sockets, silent", [("paths", 4, 280, 26), ("names", 4, 280, 26), ("contexts", 20, 40, 4)])
def test_the_text_stays_short_and_valid_whatever_there_is(prometheus, tmp_path, mode, contexts, sockets, silent):
    port = free_port()
    with Program(f"tcp://127.0.0.1:{port}", mode, TMPDIR=str(tmp_path)) as program:
        for _ in range(2):
            text = ask(port)[2]
            opened = ask(port, Accept="application/openmetrics-text;version=1.0.0")[2]
            told = ask(port, "/metrics.json")[2]
            assert max(len(text), len(opened), len(told)) <= 256 * 1024, (len(text), len(opened), len(told))
            for found in (families(prometheus_client.parser, text), families(prometheus_client.openmetrics.parser, opened)):
                assert sum_of(found, "zlink_sockets") == sockets + 3
                assert sum(each.value for each in found["zlink_messages_dropped"].samples if each.labels["reason"] == "no_peer") == silent
                named = [each.labels for each in found["zlink_sockets"].samples if each.labels["socket"] != "_other"]
                assert 30 <= len(named) <= 64
                assert len({(each["context"], each["socket"], each["type"]) for each in named}) == len(named)
                assert len({each.labels["context"] for each in found["zlink_open_descriptors"].samples}) == min(contexts + 1, 16 + 1)
            lines = json.loads(told)["sockets"]
            assert sum(each["sockets"] for each in lines) == sockets + 3
            assert len([each for each in lines if each["socket"] != "_other"]) <= 64
        done = subprocess.run([prometheus / "promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")
        assert program.end() == ""


def test_a_path_belongs_to_the_user_alone_and_carries_the_number_of_the_process(tmp_path):
    with Program(f"unix:{tmp_path}/zlink-%p") as program:
        path = tmp_path / f"zlink-{program.process.pid}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert [each.name for each in tmp_path.iterdir()] == [path.name]
        answer = ask_path(path, "/metrics")
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n") and b'type="PUSH"} 5\n' in answer
        assert program.end() == ""


def test_a_path_where_somebody_answers_is_taken_and_one_that_is_left_over_is_not(tmp_path):
    path = f"{tmp_path}/zlink"
    with Program(f"unix:{path}") as first:
        with Program(f"unix:{path}") as second:
            assert second.end() == f"zlink: metrics: cannot listen at unix:{path}: Address already in use\n"
        first.process.kill()
    assert stat.S_ISSOCK(os.lstat(path).st_mode)
    with Program(f"unix:{path}") as third:
        assert third.end() == ""
    assert not os.path.lexists(path)
    pathlib.Path(path).write_text("somebody's", encoding="utf-8")
    with Program(f"unix:{path}") as fourth:
        assert "Address already in use" in fourth.end()
    assert pathlib.Path(path).read_text(encoding="utf-8") == "somebody's"


@pytest.mark.parametrize("kind", ["unix", "file"])
def test_a_path_in_the_folder_of_the_beginning_goes_though_the_program_is_elsewhere(tmp_path, kind):
    with Program(f"{kind}:zlink", "elsewhere", cwd=tmp_path) as program:
        assert os.path.lexists(tmp_path / "zlink")
        assert program.end() == ""
    assert list(tmp_path.iterdir()) == []


def test_a_child_of_fork_does_not_speak_for_its_parent():
    port = free_port()
    with Program(f"tcp://127.0.0.1:{port}", "fork", says="child") as program:
        text = ask(port)[2]
        assert value(text, r'zlink_messages_sent_total\{[^}]*type="PUSH"\}') == 5
        program.process.stdin.write("\n")
        errors = program.end()
        assert f"zlink: metrics: cannot listen at tcp://127.0.0.1:{port}: Address already in use\n" in errors


def peers_in(answer):
    told = json.loads(answer)
    return {each["type"]: each for each in told["peers"]}, told


def test_peers_are_told_at_a_path_and_where_it_is_asked_for(tmp_path):
    port = free_port()
    with Program(f"unix:{tmp_path}/zlink", "network") as program:
        peers, told = peers_in(ask_path(tmp_path / "zlink", "/peers").partition(b"\r\n\r\n")[2])
        assert told["process"] == program.process.pid and told["is_whole"] and told["others"] == []
        pull, dealer = peers["PULL"], peers["DEALER"]
        assert pull["queue_messages_in"] == 4 and pull["state"] == "ready"
        assert dealer["address"].startswith("tcp://127.0.0.1:") and dealer["connects"] == 1
        assert peers["ROUTER"]["routing_id"] == "seven" and peers["ROUTER"]["connects"] == 0
    with Program(f"tcp://127.0.0.1:{port}?peers=1"):
        status, kind, text = ask(port, "/peers")
        assert (status, kind) == (200, "application/json") and peers_in(text)[0]["PUSH"]["messages_sent"] == 5
        assert ask(port, "/peers", host="evil.example")[0] == 403


def read_file(path):
    """As docs/metrics.md says."""
    with open(path, "rb", buffering=0) as file:
        while True:
            head = os.pread(file.fileno(), 128, 0)
            magic, version, process, start, _, offset, size, second = head.split()
            exposed = os.pread(file.fileno(), int(second), int(offset) + int(size))
            text = os.pread(file.fileno(), int(size), int(offset))
            if os.pread(file.fileno(), 128, 0) == head:
                assert (magic, version) == (b"zlink-metrics", b"1")
                assert exposed.startswith(b"# HELP zlink_build_info") and exposed.endswith(b"\n")
                return int(process), int(start), json.loads(text)


def start_of(process):
    return int(pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19])


def test_a_file_tells_of_a_program_that_is_stopped_and_goes_with_it(tmp_path):
    with Program(f"file:{tmp_path}/zlink-%p") as program:
        number = program.process.pid
        path = tmp_path / f"zlink-{number}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        while not (told := read_file(path)[2])["sockets"] or max(each["queue_messages_in"] for each in told["sockets"]) < 4:
            time.sleep(0.02)  # the text comes once a second
        program.process.send_signal(signal.SIGSTOP)
        process, start, told = read_file(path)
        assert process == told["process"] == number and start == start_of(number)
        assert [each["messages_sent"] for each in told["sockets"] if each["type"] == "PUSH"] == [5]
        program.process.send_signal(signal.SIGCONT)
        assert program.end() == ""
        assert list(tmp_path.iterdir()) == []


def test_a_file_that_may_not_be_written_costs_a_line_and_nothing_else(tmp_path):
    with Program(f"file:{tmp_path}/zlink", "limit") as program:
        assert program.end() == f"zlink: metrics: cannot write file:{tmp_path}/zlink: File too large\n"


def test_a_file_that_is_left_over_gives_way_and_one_of_a_program_that_runs_does_not(tmp_path):
    path = tmp_path / "zlink"
    with Program(f"file:{path}") as first:
        with Program(f"file:{path}") as second:
            assert second.end() == f"zlink: metrics: cannot write file:{path}: Address already in use\n"
        assert read_file(path)[0] == first.process.pid
    with Program(f"file:{path}", "fork", says="child") as third:  # the first was killed
        assert read_file(path)[0] == third.process.pid
        third.process.stdin.write("\n")
        assert f"cannot write file:{path}: Address already in use\n" in third.end()
