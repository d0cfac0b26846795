"""`make bench` without a benchmark: what it measures beside others than libzmq, and that it survives and goes on."""

import os
import select
import subprocess
import sys

import pytest

from bench_support import calls, is_picture  # (it makes the tools known, too)
from bench_support import fake_build  # noqa: F401  pylint: disable=unused-import

import beside
import neighbours
import pairs
import plot_results
import run_matrix
import runner

# nng has tcp and ws, and makes a quarter of what the script above prints for zlink, and 1.3 times where messages are large.
FAKE_NNG = """#!/usr/bin/python3 -IS
import sys
if sys.argv[1] == "schemes":
    sys.exit(print("SCHEMES,tcp ws"))
pattern, transport, size, measure, sender = sys.argv[1:]
assert sender in ("--sender=binds", "--sender=connects")
better = 1 if int(size) < 65536 else 0.65
print("RESULT,nng,%s,%s,%s,%s,%.3f" % (pattern, transport, size, measure, 1e6 * better if measure == "throughput" else 20 / better))
"""


@pytest.fixture(name="nng_dir")
def fake_nng(build_dir):
    """A build directory in which nng was found, too."""
    path = runner.program(build_dir, "bench_nng")
    with open(path, "w", encoding="utf-8") as file:
        file.write(FAKE_NNG)
    os.chmod(path, 0o755)
    return build_dir


def run_small(build_dir, out, *options):
    """One PAIR cell a transport, of tcp unless options name others."""
    return run_matrix.main(["--patterns", "PAIR", "--transports", "tcp", "--sizes", "64", "--measures", "throughput", "--contexts", "1",
                            "--pairs", "1", "--seconds", "0.001", "--build-dir", build_dir, "--no-plots", "--output-dir", str(out), *options])


def rows_of(text):
    return [line.split() for line in text.splitlines()]


def test_the_matrix_holds_ws_against_tcp_and_nng_in_both_directions(nng_dir, tmp_path, capsys):
    assert run_small(nng_dir, tmp_path, "--transports", "ws,tcp", "--hwm", "9") == 0
    rows = rows_of(capsys.readouterr().out)
    assert ["PAIR", "ws", "connects", "throughput", "1", "9", "tcp", "0.12", "LOSS"] in rows
    assert ["PAIR", "ws", "binds", "throughput", "1", "9", "tcp", "0.50"] in rows
    assert ["PAIR", "ws", "connects", "throughput", "1", "9", "nng", "0.50", "LOSS"] in rows
    assert ["PAIR", "tcp", "connects", "throughput", "1", "9", "nng", "4.00"] in rows
    assert ["PAIR", "tcp", "throughput", "1", "9", "4.00"] in rows
    assert "3 cells beside others: 2 ratios below what is asked" in [" ".join(row) for row in rows]


def test_nng_is_asked_where_it_has_the_pattern_the_transport_and_the_size(nng_dir, tmp_path):
    args = run_matrix.parse(["--patterns", "PAIR,PUBSUB", "--sizes", "64,1048576,4194304", "--build-dir", nng_dir])
    args.nng = runner.nng_schemes(nng_dir)
    assert args.nng == ["tcp", "ws"]
    assert {cell[:3] for cell in beside.cells(args) if cell[0] == "tcp"} == {("tcp", "PAIR", 64), ("tcp", "PAIR", 1 << 20)}
    names = {cell[:3]: beside.Cell(args, None, *cell).names for cell in beside.cells(args)}
    assert names["ws", "PAIR", 64] == ["ws", "tcp", "nng"]
    assert names["ws", "PAIR", 4 << 20] == names["ws", "PUBSUB", 64] == ["ws", "tcp"]
    assert names["wss", "PAIR", 64] == ["wss", "tls"]


def test_without_options_ws_wss_and_tls_are_measured_with_both_marks_contexts_and_measures():
    found = beside.cells(run_matrix.parse([]))
    for transport in ("ws", "wss", "tls"):
        kept = {cell[3:6] for cell in found if cell[:3] == (transport, "PUSH_PULL", 64)}
        assert kept == {(measure, hwm, contexts) for measure in runner.MEASURES for hwm in (0, 1000) for contexts in (1, 2)}
    assert {cell[2] for cell in found} == set(runner.SIZES + runner.LARGE_SIZES)
    directions = {(cell[0], cell[3], cell[6]) for cell in found}
    assert ("ws", "throughput", "binds") in directions and not {("tls", "throughput", "binds"), ("ws", "latency", "binds")} & directions


def test_a_router_that_addresses_is_never_asked_to_bind():
    found = beside.cells(run_matrix.parse(["--patterns", "ROUTER_ROUTER,PUBSUB", "--transports", "ws", "--measures", "throughput"]))
    assert {(cell[1], cell[6]) for cell in found} == {("ROUTER_ROUTER", "connects"), ("PUBSUB", "connects"), ("PUBSUB", "binds")}


@pytest.mark.parametrize("transport, other, measure, least", [
    ("ws", "tcp", "throughput", 0.5), ("ws", "tcp", "latency", 0.667), ("wss", "tls", "throughput", 0.7), ("tls", "tcp", "latency", 0.5),
    ("tls", "raw", "throughput", 0.7), ("tls", "nng", "latency", 0.97)])
def test_a_ratio_below_what_is_asked_is_lost(transport, other, measure, least):
    cells = [{"transport": transport, "measure": measure, "to_" + other: [ratio] * 3} for ratio in (least - 0.01, least + 0.01)]
    assert [beside.is_missed(each, other) for each in cells] == [True, False]


def test_pictures_show_what_a_transport_is_held_against(nng_dir, tmp_path, monkeypatch):
    run_small(nng_dir, tmp_path, "--transports", "ws,tcp", "--measures", "throughput,latency", "--sizes", "64,1024")
    results = pairs.read(str(tmp_path / "results.json"))
    written = plot_results.plot_all(dict(results, cells=[]), str(tmp_path))
    assert sorted(map(os.path.basename, written)) == ["beside-latency.png", "beside-latency.svg", "beside-throughput.png",
                                                      "beside-throughput.svg"]
    assert all(map(is_picture, written))
    with open(tmp_path / "results.md", encoding="utf-8") as file:
        assert "### Throughput, million messages a second, beside others than libzmq" in file.read()


# Busy neighbours


def test_a_row_of_the_matrix_has_four_busy_neighbours_which_end_with_the_cell(build_dir, tmp_path, monkeypatch, capsys):
    counts, begun = [], []
    busy = neighbours.busy

    def counted(count):
        counts.append(count)
        begun.append(busy(min(count, 1)))
        return begun[-1]
    monkeypatch.setattr(neighbours, "busy", counted)
    assert run_small(build_dir, tmp_path, "--patterns", "BUSY:4,PAIR") == 0
    assert counts == [0, 4]
    assert {line.split()[1] for line in calls(build_dir)} == {"PAIR", "PUSH_PULL"}
    assert ["BUSY:4", "tcp", "throughput", "1", "1000", "4.00"] in rows_of(capsys.readouterr().out)
    found = pairs.read(str(tmp_path / "results.json"))["cells"]
    assert [each["pattern"] for each in found] == ["PAIR", "BUSY:4"]


def test_busy_neighbours_are_there_for_a_few_sizes_of_what_libzmq_has_too():
    args = run_matrix.parse([])
    kept = [dict(zip(pairs.FIELDS, cell)) for cell in pairs.cells(args) if cell[1] == "BUSY:4"]
    assert {(each["transport"], each["size"], each["measure"]) for each in kept} == {
        (transport, size, measure) for transport in runner.TRANSPORTS for size in (64, 1024, 65536) for measure in runner.MEASURES}
    assert len(kept) == 18
    assert "BUSY:4" not in {cell[1] for cell in beside.cells(run_matrix.parse(["--patterns", "BUSY:4,PAIR"]))}


def test_neighbours_end_with_the_cell_and_with_who_began_them():
    with neighbours.busy(2) as started:
        assert [each.poll() for each in started] == [None, None]
    assert all(each.returncode for each in started)
    whole = subprocess.Popen([sys.executable, "-c", "import neighbours\nwith neighbours.busy(1) as started: print(started[0].pid, flush=True); input()"],
                             cwd=runner.HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    ended = os.pidfd_open(int(whole.stdout.readline()))
    whole.kill()
    whole.wait()
    assert select.select([ended], [], [], 60)[0]
    os.close(ended)


# A run of hours


def test_a_cell_that_does_not_end_is_told_and_the_others_are_measured(build_dir, tmp_path, monkeypatch, capsys):
    run = subprocess.run

    def hung(command, **more):
        if "DEALER_DEALER" in command:
            raise subprocess.TimeoutExpired(command, more["timeout"])
        return run(command, **more)
    monkeypatch.setattr(subprocess, "run", hung)
    assert run_small(build_dir, tmp_path, "--patterns", "DEALER_DEALER,PAIR", "--transports", "tcp,ws", "--limit", "7") == 1
    text = capsys.readouterr().out
    assert "FAILED libzmq DEALER_DEALER tcp 64: no end after 7 s" in text
    assert "FAILED zlink DEALER_DEALER ws 64: no end after 7 s" in text
    results = pairs.read(str(tmp_path / "results.json"))
    assert [{each["pattern"] for each in results[part]} for part in ("cells", "beside")] == [{"PAIR"}, {"PAIR"}]


def test_a_cell_with_a_fault_nobody_thought_of_does_not_end_the_run(build_dir, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(beside.Cell, "measured", lambda _: 1 / 0)
    assert run_small(build_dir, tmp_path, "--transports", "ws,tcp", "--hwm", "9") == 1
    text = capsys.readouterr().out
    assert "FAILED ws PAIR 64 throughput 9 1 connects: ZeroDivisionError" in text
    assert "1 cells: 0 lost" not in text and "3 cells: 0 lost (below 0.97), 2 without a result" in text


def test_a_run_goes_on_where_the_one_before_ended_and_tries_again_what_failed(build_dir, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    with monkeypatch.context() as broken:
        broken.setattr(beside.Cell, "measured", lambda _: 1 / 0)
        assert run_small(build_dir, out, "--transports", "ws,tcp", "--hwm", "9") == 1
    before = len(calls(build_dir))
    assert run_small(build_dir, out, "--transports", "ws,tcp", "--hwm", "9") == 0
    assert {line.split()[0] for line in calls(build_dir)[before:]} == {"zlink"}
    assert "1 of 3 cells are measured already" in capsys.readouterr().out
    done = len(calls(build_dir))
    assert run_small(build_dir, out, "--transports", "ws,tcp", "--hwm", "9") == 0
    assert len(calls(build_dir)) == done
    assert ["PAIR", "tcp", "throughput", "1", "9", "4.00"] in rows_of(capsys.readouterr().out)
    assert pairs.read(str(out / "results.json"))["machine"]["libzmq"] == "4.3.4"


@pytest.mark.parametrize("change", ["afresh", "settings", "build"])
def test_a_run_begins_afresh_where_it_is_told_to_or_could_not_be_compared(change, build_dir, tmp_path):
    out = tmp_path / "out"
    run_small(build_dir, out)
    before = len(calls(build_dir))
    if change == "build":
        with open(os.path.join(build_dir, "lib", runner.SONAME), "a", encoding="utf-8") as file:
            file.write("other code")
    run_small(build_dir, out, *{"afresh": ["--afresh"], "settings": ["--seconds", "0.002"], "build": []}[change])
    assert len(calls(build_dir)) > before
    assert pairs.read(str(out / "results.previous.json"))["cells"] and len(pairs.read(str(out / "results.json"))["cells"]) == 1


def test_a_quick_run_has_a_few_cells_of_every_transport(nng_dir):
    args = run_matrix.parse(["--quick", "--build-dir", nng_dir])
    args.nng = list(beside.KINDS)
    wanted = run_matrix.wanted_cells(args)
    assert (args.pairs, args.limit) == (1, 20) and args.output_dir.endswith(os.path.join("bench", "quick"))
    assert len(wanted) <= 280  # at two and a half seconds each
    cells = [dict(zip(pairs.FIELDS if part == "cells" else beside.FIELDS, where), part=part) for part, where in wanted]
    kept = {(each["transport"], each["pattern"], each["size"], each["contexts"]) for each in cells if each["measure"] == "throughput"}
    assert kept == {(transport, pattern, size, contexts)
                    for transport in runner.ALL_TRANSPORTS for pattern in ("PUSH_PULL", "PUBSUB", "DEALER_ROUTER")
                    for size in (64, 1024, 65536, 1 << 20, 16 << 20) for contexts in ((1,) if transport == "inproc" else (1, 2))} | {
                        (transport, "BUSY:4", size, 1) for transport in runner.TRANSPORTS for size in (64, 1024, 65536)}
    assert {(each["transport"], each["contexts"]) for each in cells if each["measure"] == "latency"} == {
        (transport, contexts) for transport in runner.ALL_TRANSPORTS for contexts in (1, 2)} - {("inproc", 2)}
    assert {each["sender"] for each in cells if each["transport"] in ("ws", "wss")} == {"connects", "binds"}


def test_options_change_a_quick_run(build_dir):
    args = run_matrix.parse(["--quick", "--sizes", "64", "--pairs", "2", "--build-dir", build_dir])
    assert (args.sizes, args.pairs) == ([64], 2)


def test_certificates_are_made_again_before_they_end(build_dir, monkeypatch):
    made = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: made.append(command[0]))
    runner.certificates(build_dir)
    path = os.path.join(build_dir, "bench", "tls", "cert.pem")
    with open(path, "w", encoding="utf-8"):
        pass
    runner.certificates(build_dir)
    assert made == ["openssl"]
    os.utime(path, (0, 0))
    runner.certificates(build_dir)
    assert made == ["openssl"] * 2


def test_a_run_without_a_library_that_prints_nothing_is_no_result(build_dir):
    with pytest.raises(runner.Failure, match="no latency"):
        runner.run_alone(build_dir, ["true"], "latency")


def test_few_large_messages_a_second_are_told_with_digits(build_dir, tmp_path):
    run_small(build_dir, tmp_path, "--transports", "ws", "--hwm", "9")
    found = pairs.read(str(tmp_path / "results.json"))
    assert found["machine"]["libzmq"] is None
    slow = dict(found["beside"][0], median={"ws": 61.4, "tcp": 123})
    assert beside.line_of(slow).endswith(" ws 0.000061 M/s tcp 0.000123 M/s")
