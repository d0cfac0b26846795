"""zlink bench: what it prints, and how it ends; the other library is the distribution's libzmq."""

import ctypes.util
import csv
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import xml.etree.ElementTree

import pytest
from conftest import COMMAND, LIMIT, run

LIBZMQ = "/usr/lib/x86_64-linux-gnu/libzmq.so.5" if os.path.exists("/usr/lib/x86_64-linux-gnu/libzmq.so.5") else ctypes.util.find_library("zmq")
QUICK = ("--runs", "1", "--msgs", "300")


def lines(*arguments):
    return [json.loads(line) for line in run("bench", "--json", *arguments).splitlines()]


@pytest.mark.parametrize("endpoint", ["tcp://127.0.0.1:*", "ipc://*", "inproc://bench"])
def test_each_pattern_is_measured_both_ways(endpoint):
    one_way = lines(endpoint, *QUICK, "-p", "push-pull,pub-sub,pair,dealer-router", "-s", "0,100")
    assert len(one_way) == 8 and all(each["messages_per_second"] > 0 and "p50_us" not in each for each in one_way)
    back = lines(endpoint, *QUICK, "-p", "req-rep,pair,dealer-router", "--lat", "-s", "100")
    assert len(back) == 3 and all(0 < each["p50_us"] <= each["p99_us"] <= each["p99.9_us"] <= each["max_us"] for each in back)


@pytest.mark.parametrize("pattern", ["push-pull", "pub-sub", "dealer-router", "req-rep"])
def test_several_clients_are_measured_at_once(pattern):
    (told,) = lines(*QUICK, "-p", pattern, "-s", "64", "--clients", "3")
    assert told["clients"] == 3 and told["messages_per_second"] > 0


def test_a_rate_is_kept_by_each_client():
    (told,) = lines("--runs", "1", "--msgs", "50", "-p", "push-pull", "-s", "64", "--rate", "1000")
    assert told["messages_per_second"] < 1300


def test_another_library_is_measured_in_turn_and_compared():
    both = lines(*QUICK, "--against", LIBZMQ, "-s", "64")
    assert [each["library"].split()[0] for each in both] == ["zlink", "libzmq"] * 2
    assert both[0]["ratio"] == pytest.approx(both[0]["messages_per_second"] / both[1]["messages_per_second"], rel=0.01)
    said = run("bench", *QUICK, "--against", LIBZMQ, "-s", "64", env=dict(os.environ, LC_ALL="C.UTF-8", TERM="xterm", NO_COLOR="")).decode()
    assert re.search(r"zlink passes [\d.]+ times as many as libzmq \d", said) and "█" in said
    assert re.search(r"zlink takes [\d.]+ times as long as libzmq \d", said)


@pytest.mark.parametrize("variable", [{"LC_ALL": "C"}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_it_draws_with_ascii_where_that_is_asked_for(variable):
    said = run("bench", *QUICK, "-s", "64", env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm", **variable})
    assert said.isascii() and b"##" in said and b"longer bar is better" in said and b"shorter bar is better" in said


def test_csv_has_a_head_and_a_line_for_each_library():
    rows = list(csv.DictReader(run("bench", "--csv", *QUICK, "-s", "64,128").decode().splitlines()))
    assert [(row["pattern"], row["size"], row["runs"]) for row in rows] == [(p, s, "1") for p in ("push-pull", "req-rep") for s in ("64", "128")]
    assert float(rows[0]["messages_per_second"]) > 0 and rows[0]["p50_us"] == "" and float(rows[2]["p50_us"]) > 0


def test_two_hosts_measure_with_a_side_each(start):
    far = start("bench", "--bind", "tcp://127.0.0.1:*")
    where = far.bound().rstrip(";")
    assert len(lines("--connect", where, *QUICK, "-p", "push-pull,pub-sub,req-rep", "-s", "64", "--clients", "2")) == 3
    far.process.send_signal(signal.SIGINT)
    far.end(status=130)


PROTECTED = {"--curve": "CURVE", "--plain": "PLAIN", "--tls": "TLS"}


@pytest.mark.parametrize("flag", PROTECTED)
def test_both_ends_are_protected_with_keys_that_are_made_for_it(flag):
    told = lines(*QUICK, flag, "-p", "push-pull,pub-sub,req-rep", "-s", "64", "--clients", "2")
    assert [each["security"] for each in told] == [PROTECTED[flag]] * 3 and all(each["messages_per_second"] > 0 for each in told)
    assert all(each["endpoint"] == ("tls" if flag == "--tls" else "tcp") + "://127.0.0.1:*" for each in told)


@pytest.mark.parametrize("flag", PROTECTED)
def test_the_connections_have_the_mechanism_that_was_asked_for(start, tmp_path, flag):
    going = start("bench", flag, "-p", "push-pull", "-s", "64", "-d", "1h", env=dict(os.environ, ZLINK_METRICS=f"unix:{tmp_path}/%p", TMPDIR=str(tmp_path)))
    told = {"peers": []}
    while not any(each["state"] == "ready" for each in told["peers"]):
        assert going.process.poll() is None
        if numbers := [path for path in tmp_path.iterdir() if path.is_socket()]:
            told = json.loads(subprocess.run([COMMAND, "stats", f"unix:{numbers[0]}", "--peers", "-f", "json"], capture_output=True, check=False).stdout or b'{"peers": []}')
    peer = next(each for each in told["peers"] if each["state"] == "ready" and "127.0.0.1" in each["address"])
    assert peer["mechanism"] == {"--tls": "NULL"}.get(flag, PROTECTED[flag]) and peer["address"].startswith("tls://" if flag == "--tls" else "tcp://")
    going.process.send_signal(signal.SIGINT)
    going.end(status=130)
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]  # certificates go with it


@pytest.mark.parametrize("flag", ["--curve", "--plain"])
def test_another_library_is_protected_in_the_same_way(flag):
    both = lines(*QUICK, flag, "--against", LIBZMQ, "-s", "64")
    assert [each["library"].split()[0] for each in both] == ["zlink", "libzmq"] * 2 and {each["security"] for each in both} == {PROTECTED[flag]}


LOGIN = ("--username", "admin", "--password", "secret")


@pytest.mark.parametrize("where", ["tcp", "ipc", "ws", "curve", "tls", "wss", "plain", "plain over ws", "plain over wss"])
def test_two_hosts_have_keys_of_theirs(start, tmp_path, where):
    run("keygen", tmp_path / "server")
    run("keygen", "--tls", tmp_path / "tls")
    scheme = {"plain": "tcp", "curve": "tcp"}.get(where, where.split()[-1])
    far_keys, near_keys = [], []
    if scheme in ("tls", "wss"):
        far_keys, near_keys = ["--cert", tmp_path / "tls/localhost.pem", "--key", tmp_path / "tls/localhost.key"], ["--ca", tmp_path / "tls/ca.pem"]
    if where == "curve":
        far_keys, near_keys = ["--curve-server", "--curve-cert", tmp_path / "server.key_secret"], ["--curve-server-key", tmp_path / "server.key"]
    if where.startswith("plain"):
        far_keys, near_keys = [*far_keys, *LOGIN], [*near_keys, *LOGIN]
    far = start("bench", "--bind", f"ipc://{tmp_path}/s" if scheme == "ipc" else f"{scheme}://127.0.0.1:*", *far_keys)
    address = far.bound().rstrip(";")
    told = lines("--connect", address, *QUICK, "-p", "push-pull,pub-sub,req-rep", "-s", "64", *near_keys)
    assert len(told) == 3 and all(each["messages_per_second"] > 0 for each in told)
    assert [each["security"] for each in told] == [{"p": "PLAIN", "c": "CURVE"}.get(where[0], "")] * 3
    if near_keys:
        run("bench", "--connect", address, *QUICK, "-p", "push-pull", "-s", "64", status=6 if where == "plain over ws" else 5)
    if where.startswith("plain"):
        run("bench", "--connect", address, *QUICK, "-p", "push-pull", "-s", "64", *near_keys[:-1], "other", status=5)
        assert "the peer refuses" in run.err
    far.process.send_signal(signal.SIGINT)
    far.end(status=130)


def test_nothing_is_protected_within_a_process():
    for flag in PROTECTED:
        run("bench", *QUICK, flag, "inproc://bench", status=2)
        assert "inproc://, which nothing protects" in run.err
    for flag in ("--bind", "--connect"):
        run("bench", flag, "inproc://bench", status=2)
        assert "does not leave one" in run.err


def test_the_result_is_written_into_a_file_too(tmp_path):
    for name, flags in (("x.csv", []), ("x.json", []), ("x.txt", []), ("y", ["--csv"]), ("z", ["--json"])):
        said = run("bench", *QUICK, "-s", "64", "-o", tmp_path / name, *flags).decode()
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "PUSH to PULL" in said and "median" in said
        if name == "x.csv" or "--csv" in flags:
            assert [row["pattern"] for row in csv.DictReader(text.splitlines())] == ["push-pull", "req-rep"]
        elif name == "x.json" or "--json" in flags:
            assert [json.loads(line)["pattern"] for line in text.splitlines()] == ["push-pull", "req-rep"]
        else:
            assert "PUSH to PULL" in text and "\u2588" in text
    run("bench", *QUICK, "-o", tmp_path / "x.csv", "--json", status=2)
    run("bench", *QUICK, "-o", tmp_path / "none" / "x.csv", status=1)
    assert "No such file" in run.err


def test_a_picture_is_drawn_of_rates_and_of_times(tmp_path):
    run("bench", *QUICK, "-s", "64,1024", "--against", LIBZMQ, "--svg", tmp_path / "x.svg")
    root = xml.etree.ElementTree.parse(tmp_path / "x.svg").getroot()
    of = lambda name: root.findall(f".//{{http://www.w3.org/2000/svg}}{name}")  # noqa: E731
    said = [each.text for each in of("text")]
    assert sum("PUSH to PULL" in each or "REQ to REP" in each for each in said) == 2
    assert sum(each.startswith("libzmq") for each in said) == 4 and said.count("64 B") == said.count("1 KiB") == 2
    bars = [each for each in of("rect") if each.get("class") in ("own", "other")]
    assert len(bars) == 4 and all(0 < float(each.get("width")) <= 530 for each in bars)
    dots = [(float(each.get("cy")), float(each.get("cx"))) for each in of("circle")]
    assert len(dots) == 16
    for row in {y for y, _ in dots}:
        along = [x for y, x in dots if y == row]
        assert along == sorted(along) and 229 < along[0] and along[-1] < 761  # p50, p99, p99.9, max
    assert "prefers-color-scheme: dark" in (tmp_path / "x.svg").read_text(encoding="utf-8")


def test_a_signal_ends_it_with_what_was_measured(start):
    going = start("bench", "--json", "-p", "push-pull", "-s", "64", "-d", "1h", "--runs", "5")
    while not (children := subprocess.run(["pgrep", "-P", str(going.process.pid)], capture_output=True, check=False).stdout.split()):
        pass
    while b"voluntary_ctxt_switches" not in (told := open(f"/proc/{children[0].decode()}/status", "rb").read()) or int(re.search(rb"Threads:\s+(\d+)", told).group(1)) < 4:
        pass  # it passes messages when it has its threads
    going.process.send_signal(signal.SIGINT)
    going.end(status=130)


def told_at_a_terminal(*flags, **variables):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 80, 0, 0))
    asks = [COMMAND, "bench", "--runs", "2", "--msgs", "300", "-s", "64", "-p", "push-pull", *flags]
    done = subprocess.run(asks, stderr=slave, stdout=subprocess.PIPE, timeout=LIMIT, check=True, env={**os.environ, **variables})
    assert b"run 1 of" not in done.stdout
    os.write(slave, b"end")
    os.close(slave)
    told = b""
    while not told.endswith(b"end"):
        told += os.read(master, 10000)
    os.close(master)
    return told[:-3].decode().replace("\r\n", "\n")


def test_a_bar_of_progress_is_for_a_terminal_alone():
    run("bench", *QUICK, "-s", "64", "-p", "push-pull")
    assert run.err == ""
    drawn = told_at_a_terminal(LC_ALL="C.UTF-8", TERM="xterm", NO_COLOR="").split("\r")
    assert f"[{'░' * 24}] run 1 of 2: " in drawn[1] and f"[{'█' * 12}{'░' * 12}] run 2 of 2: " in drawn[2]
    assert drawn[3:] == [" " * 78, ""] and all(len(each) < 80 for each in drawn)  # it has gone in the end
    assert f"[{'#' * 12}{'.' * 12}] run 2 of 2: " in told_at_a_terminal(LC_ALL="C", TERM="xterm")
    plain = told_at_a_terminal(TERM="dumb")
    assert "\r" not in plain and [line.split(":")[0] for line in plain.splitlines()] == ["run 1 of 2", "run 2 of 2"]
    assert told_at_a_terminal("-q", TERM="xterm") == ""


def test_what_cannot_be_measured_is_refused(free_port, tmp_path):
    for wrong in (["--lat", "-p", "push-pull"], ["-p", "pair", "--clients", "2"], ["--msgs", "5", "-d", "1"], ["--size", "x"], ["nonsense"],
                  ["--curve", "--plain"], ["--curve", "tls://127.0.0.1:*"], ["--tls", free_port], ["tls://127.0.0.1:*", free_port],
                  ["--curve", "--connect", free_port], ["--username", "x"], ["--ca", "x"], ["-o", ""], ["--svg", ""],
                  ["--bind", free_port, free_port], ["--against", "/none", "--connect", free_port], ["--against", "/none"], [""]):
        run("bench", *wrong, status=2)
    (tmp_path / "other.so").write_text("no library", encoding="utf-8")
    run("bench", "--against", tmp_path / "other.so", *QUICK, status=2)
    run("bench", free_port, *QUICK, status=4)


def test_a_file_has_the_result_or_the_picture(tmp_path):
    file = tmp_path / "x"
    for one, other in (("x", "x"), ("x", "./x"), ("link", "x"), ("x", "link")):
        if "link" in (one, other) and not file.exists():
            file.write_text("kept", encoding="utf-8")
            (tmp_path / "link").symlink_to(file)
        run("bench", *QUICK, "-o", f"{tmp_path}/{one}", "--svg", f"{tmp_path}/{other}", status=2)
        assert "is the file of --output" in run.err
        assert not file.exists() or file.read_text(encoding="utf-8") == "kept"
