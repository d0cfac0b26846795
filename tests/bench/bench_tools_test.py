"""The tools of benchwithzmq/ without a benchmark: a script stands in for bench_zmq and prints known values."""

import json
import os
import subprocess

import pytest

from bench_support import calls, cell, is_picture, results_of  # (it makes the tools known, too)
from bench_support import fake_build  # noqa: F401  pylint: disable=unused-import

import acceptance
import analyze_results
import pairs
import plot_results
import run_comparison
import run_matrix
import run_transports
import runner
import sweep_batches
import tables


# Reading what bench_zmq prints


def test_result_lines_become_values_and_the_version_is_kept(build_dir):
    library = runner.Library("zlink", os.path.join(build_dir, "lib"))
    values, lines = runner.read_output(library, "LIBRARY,zlink,%s,4.3.5\nnoise\nRESULT,zlink,PAIR,tcp,64,latency,4.500\n"
                                       % library.file)
    assert values == {"latency": 4.5}
    assert lines == ["RESULT,zlink,PAIR,tcp,64,latency,4.500"]
    assert library.version == "4.3.5"


def test_a_run_on_the_wrong_library_is_no_result(build_dir):
    library = runner.Library("zlink", os.path.join(build_dir, "lib"))
    with pytest.raises(runner.Failure, match="instead of"):
        runner.read_output(library, "LIBRARY,zlink,/elsewhere/libzmq.so.5,4.3.5\nRESULT,zlink,PAIR,tcp,64,latency,4\n")
    with pytest.raises(runner.Failure, match="does not say"):
        runner.read_output(library, "RESULT,zlink,PAIR,tcp,64,latency,4\n")


def test_a_run_without_the_measure_asked_for_is_no_result(build_dir):
    library = runner.Library("zlink", os.path.join(build_dir, "lib"))
    with open(runner.program(build_dir), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho LIBRARY,zlink,$LD_LIBRARY_PATH/libzmq.so.5,4.3.5\n")
    with pytest.raises(runner.Failure, match="no latency"):
        runner.run_cell(build_dir, library, "PAIR", "tcp", 64, "latency")


def test_a_run_with_a_setting_that_is_ignored_is_no_result(build_dir):
    library = runner.Library("zlink", os.path.join(build_dir, "lib"))
    with pytest.raises(runner.Failure, match="SIZE=7 is ignored"):
        runner.run_cell(build_dir, library, "PAIR", "tcp", 64, "latency", ZMQ_ASIO_IN_BATCH_SIZE=7)


def test_analysis_reads_only_result_lines():
    text = ["RESULT,libzmq,PAIR,tcp,64,latency,4", "RESULT,zlink,PAIR,tcp,64,latency,2", "RESULT,zlink,PAIR,tcp,64,latency,3",
            "LIBRARY,zlink,x,4.3.5", "RESULT,short"]
    assert analyze_results.read([text]) == {("PAIR", "tcp", 64, "latency"): {"libzmq": [4.0], "zlink": [2.0, 3.0]}}


def test_lists_have_commas_or_spaces_and_known_names_only():
    assert runner.words("tcp, ipc inproc") == ["tcp", "ipc", "inproc"]
    assert runner.numbers("64,256") == [64, 256]
    assert runner.list_of(["tcp"])("tcp") == ["tcp"]
    with pytest.raises(Exception, match="tpc: not one of tcp"):
        runner.list_of(["tcp"])("tpc")


# Arithmetic


def test_trimmed_mean_leaves_out_the_smallest_and_the_largest():
    assert run_comparison.trimmed_mean([100, 1, 2, 3, -50]) == 2
    assert run_comparison.trimmed_mean([9, 1, 5]) == 5
    assert run_comparison.trimmed_mean([1, 3]) == 2
    assert run_comparison.trimmed_mean([7]) == 7


def test_ratio_is_above_one_where_zlink_is_better():
    assert runner.ratio("throughput", 2, 6) == 3
    assert runner.ratio("latency", 6, 2) == 3


def test_summary_takes_the_median_of_the_ratios_not_the_ratio_of_the_medians():
    found = pairs.summary("throughput", [(1, 2), (10, 30), (4, 4)])
    assert (found["libzmq"], found["zlink"]) == (4, 4)
    assert (found["ratio"], found["ratio_min"], found["ratio_max"]) == (2, 1, 3)


def test_a_cell_below_parity_is_lost():
    assert pairs.is_lost(cell(runs=[(100, 96.9)]))
    assert not pairs.is_lost(cell(runs=[(100, 97)]))
    assert pairs.is_lost(cell(measure="latency", runs=[(96.9, 100)]))


def test_first_counts_shrink_with_the_size_down_to_twice_the_usual_mark():
    assert [pairs.first_count("throughput", size) for size in (64, 8192, 262144)] == [20000, 8192, 2000]
    assert pairs.first_count("latency", 262144) == 1000


def test_acceptance_asks_more_of_small_messages():
    assert acceptance.verdict(cell(runs=[(1, 4)]))["pass"] is False
    assert acceptance.verdict(cell(size=1024, runs=[(1, 4)]))["pass"] is True
    assert acceptance.verdict(cell(measure="latency", runs=[(1, 1)]))["pass"] is True


# Tables


def test_the_grid_has_a_row_a_measure_and_a_column_a_size_and_marks_losses():
    cells = [cell(), cell(size=65536, runs=[(100, 50)]), cell("PUSH_PULL", measure="latency", runs=[(10, 5)]),
             cell("DEALER_DEALER")]
    head, *rows = tables.grid(cells).splitlines()
    assert head.split() == ["pattern", "transport", "measure", "contexts", "mark", "64", "64K"]
    assert [row.split() for row in rows] == [
        ["PAIR", "tcp", "throughput", "1", "1000", "5.00", "0.50", "LOSS"],
        ["DEALER_DEALER", "tcp", "throughput", "1", "1000", "5.00", "-"],
        ["PUSH_PULL", "tcp", "latency", "1", "1000", "2.00", "-"],
    ]


def test_the_closing_lists_losses_worst_first_and_failures():
    text = tables.closing([cell(runs=[(100, 90)]), cell(size=256, runs=[(100, 50)]), cell(size=1024)], ["it broke"])
    assert "4 cells: 2 lost (below 0.97), 1 without a result" in text
    assert text.index("ratio   0.50") < text.index("ratio   0.90") < text.index("FAILED it broke")


def test_markdown_rows_have_the_columns_of_the_documentation():
    cells = [cell(runs=[(4.1e6, 2e7)]), cell(size=262144, runs=[(10700, 9700)]), cell(measure="latency")]
    assert tables.markdown_of(cells, "throughput").splitlines() == [
        "| pattern | transport | octets | mark | contexts | libzmq | zlink | ratio |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        "| PAIR | tcp | 64 | 1000 | 1 | 4.1 | 20 | 4.88 (4.88 to 4.88) |",
        "| PAIR | tcp | 262144 | 1000 | 1 | 0.0107 | 0.0097 | **0.91** (0.91 to 0.91) |",
    ]


def test_values_never_have_an_exponent():
    assert [tables.plain(value) for value in (20.84, 0.0107, 1234.5, 0.00001)] == ["20.8", "0.0107", "1234", "0.000010"]


def test_what_is_not_known_of_a_machine_is_left_out():
    assert tables.machine_line({"date": "2026-01-02", "kernel": "6.1.0-1"}) == "2026-01-02, Linux 6.1.0"
    assert tables.machine_line({}) == ""


# The matrix


def test_the_matrix_ends_with_a_table_results_and_pictures(build_dir, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BENCH_MSG_COUNT", "100")
    monkeypatch.setenv("BENCH_LAT_COUNT", "100")
    out = str(tmp_path / "out")
    status = run_matrix.main(["--contexts", "1", "--patterns", "PAIR,PUBSUB", "--transports", "tcp,inproc", "--sizes", "64,65536", "--pairs", "3",
                              "--build-dir", build_dir, "--reuse-build", "--output-dir", out])
    text = capsys.readouterr().out
    assert status == 0
    assert "[ 16/16," in text
    assert "16 cells: 8 lost" in text
    assert ["PUBSUB", "inproc", "latency", "1", "1000", "4.00", "0.50", "LOSS"] in [line.split() for line in text.splitlines()]
    results = pairs.read(os.path.join(out, "results.json"))
    assert len(results["cells"]) == 16 and results["failures"] == []
    assert results["machine"]["libzmq"] == "4.3.4"
    assert [len(each["runs"]) for each in results["cells"]] == [3] * 16
    with open(os.path.join(out, "results.md"), encoding="utf-8") as file:
        assert file.read().count("**0.50**") == 8
    for stem in ("throughput", "latency", "headline"):
        assert is_picture(os.path.join(out, stem + ".png"))
        assert is_picture(os.path.join(out, stem + ".svg"))


# The stream without a library makes half of what the script above prints for zlink.
FAKE_RAW = """#!/usr/bin/python3 -IS
import os, sys
size, measure = sys.argv[1:]
assert os.environ["BENCH_TLS_CERT"] and os.environ["BENCH_MSG_COUNT" if measure == "throughput" else "BENCH_LAT_COUNT"]
print("RESULT,raw,STREAM,tls,%s,%s,%.3f" % (size, measure, 2e6 if measure == "throughput" else 2.5))
"""


@pytest.mark.parametrize("has_raw", [True, False])
def test_a_transport_stands_beside_the_one_below_and_beside_no_library(has_raw, build_dir, tmp_path, capsys):
    raw = os.path.join(build_dir, "bench", "bench_raw_tls")
    if has_raw:
        with open(raw, "w", encoding="utf-8") as file:
            file.write(FAKE_RAW)
        os.chmod(raw, 0o755)
    out = str(tmp_path / "out.json")
    assert run_transports.main(["--kinds", "tls", "--patterns", "PAIR", "--sizes", "64", "--hwm", "7", "--contexts", "2", "--pairs", "2", "--seconds", "0.001",
                                "--build-dir", build_dir, "--output", out]) == 0
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| PAIR")]
    head, below = ["PAIR", "tls", "connects", "64", "7", "2"], "1.00 (1.00 to 1.00)"
    assert rows == [head + (["4", "4", "2", "", below, "2.00 (2.00 to 2.00)"] if has_raw else ["4", "4", "", "", below]),
                    head + (["5", "5", "2.5", "", below, "0.50 (0.50 to 0.50)"] if has_raw else ["5", "5", "", "", below])]
    with open(out, encoding="utf-8") as file:
        results = json.load(file)
    assert [len(each["rounds"]) for each in results["cells"]] == [2, 2] and results["failures"] == []


def test_what_fails_over_a_transport_is_told(build_dir, capsys):
    assert run_transports.main(["--patterns", "ROUTER_ROUTER", "--sizes", "64", "--hwm", "0", "--contexts", "1", "--measures", "latency",
                                "--build-dir", build_dir]) == 1
    assert "FAILED zlink ROUTER_ROUTER tls 64: exit 1 send: failed" in capsys.readouterr().out


def test_pairs_alternate_and_so_does_who_goes_first(build_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_MSG_COUNT", "77")
    run_matrix.main(["--contexts", "1", "--patterns", "PAIR", "--transports", "tcp", "--sizes", "64", "--measures", "throughput", "--pairs", "3",
                     "--build-dir", build_dir, "--no-plots", "--output-dir", str(tmp_path)])
    assert calls(build_dir) == ["%s PAIR tcp 64 throughput 77" % name
                                for name in ("libzmq", "zlink", "zlink", "libzmq", "libzmq", "zlink")]


def test_counts_grow_until_the_faster_library_needs_the_time_asked_for(build_dir, tmp_path):
    run_matrix.main(["--contexts", "1", "--patterns", "PAIR", "--transports", "tcp", "--sizes", "64", "--measures", "throughput", "--pairs", "1",
                     "--seconds", "0.05", "--build-dir", build_dir, "--no-plots", "--output-dir", str(tmp_path)])
    # 20,000 messages take zlink 5 ms at 4 M a second; ten times as many take 50 ms.
    assert [line.split()[0::5] for line in calls(build_dir)] == [
        ["libzmq", "20000"], ["zlink", "20000"], ["zlink", "200001"], ["libzmq", "200001"], ["zlink", "200001"]]


def test_a_cell_without_a_result_is_told_and_the_others_are_shown(build_dir, tmp_path, capsys):
    status = run_matrix.main(["--contexts", "1", "--patterns", "ROUTER_ROUTER,PAIR", "--transports", "tcp", "--sizes", "64", "--pairs", "1",
                              "--measures", "latency", "--build-dir", build_dir, "--no-plots", "--output-dir", str(tmp_path)])
    text = capsys.readouterr().out
    assert status == 1
    assert "2 cells: 0 lost (below 0.97), 1 without a result" in text
    assert "FAILED libzmq ROUTER_ROUTER tcp 64: exit 1 send: failed" in text


def test_variables_choose_transports_and_sizes(build_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_TRANSPORTS", "ipc")
    monkeypatch.setenv("BENCH_MSG_SIZES", "256,512")
    monkeypatch.setenv("BENCH_HWM", "5")
    args = run_matrix.parse(["--measures", "latency", "--patterns", "PAIR", "--contexts", "1"])
    assert pairs.cells(args) == [(5, "PAIR", "ipc", 256, "latency", 1, "copied"),
                                 (5, "PAIR", "ipc", 512, "latency", 1, "copied")]


def test_two_contexts_and_large_sizes_are_measured_where_they_make_sense():
    args = run_matrix.parse(["--measures", "throughput"])
    found = {(pattern, transport, size, contexts) for _, pattern, transport, size, _, contexts, _ in pairs.cells(args)}
    assert {("PAIR", "tcp", 64 << 20, 2), ("ROUTER_ROUTER", "ipc", 262144, 2), ("PUSH_PULL", "inproc", 1 << 20, 1)} <= found
    assert not {("PAIR", "inproc", 64, 2), ("ROUTER_ROUTER", "tcp", 1 << 20, 1)} & found
    named = run_matrix.parse(["--measures", "throughput", "--patterns", "PUBSUB", "--sizes", "4194304"])
    assert {each[:4] for each in pairs.cells(named)} == {(1000, "PUBSUB", each, 4 << 20) for each in runner.TRANSPORTS}


def test_cells_of_two_contexts_and_of_other_bodies_have_rows_of_their_own():
    cells = [cell(), dict(cell(), contexts=2), dict(cell(size=4 << 20), bodies="lent")]
    head, *rows = tables.grid(cells).splitlines()
    assert head.split()[-2:] == ["64", "4M"]
    assert [row.split()[3:] for row in rows] == [["1", "1000", "5.00", "-"], ["1,lent", "1000", "-", "5.00"],
                                                 ["2", "1000", "5.00", "-"]]


def test_large_sizes_are_sent_few_times():
    assert [pairs.first_count("throughput", size << 20) for size in (1, 16, 64)] == [256, 16, 8]
    assert [pairs.warmup_of(size) for size in (262144, 1 << 20, 64 << 20)] == [None, 64, 2]


# Building


def test_nothing_is_built_where_everything_is_there(build_dir, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("something was run"))
    runner.build(build_dir)


@pytest.mark.parametrize("missing", ["bench/bench_zmq", "lib/libzmq.so.5"])
def test_what_is_missing_is_built_unless_that_is_forbidden(build_dir, monkeypatch, missing):
    os.remove(os.path.join(build_dir, missing))
    commands = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: commands.append(command))
    runner.build(build_dir)
    assert [command[:2] for command in commands] == [["cmake", "-S"], ["cmake", "--build"]]
    assert commands[1][-1] == "bench_programs"
    with pytest.raises(runner.Failure, match="--reuse-build"):
        runner.build(build_dir, reuse=True)
    assert len(commands) == 2


def test_the_comparison_without_a_benchmark_and_without_building_ends_with_2(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("something was run"))
    assert run_comparison.main(["--reuse-build", "--build-dir", str(tmp_path)]) == 2
    assert "--reuse-build" in capsys.readouterr().err


def test_the_comparison_shows_both_and_the_difference(build_dir, monkeypatch, capsys):
    monkeypatch.setenv("BENCH_TRANSPORTS", "tcp")
    monkeypatch.setenv("BENCH_MSG_SIZES", "64")
    assert run_comparison.main(["PAIR", "--runs", "3", "--build-dir", build_dir]) == 0
    summary = capsys.readouterr().out.split("Summary")[1]
    assert "difference   +300.0 %  ratio   4.00" in summary
    assert "difference    -75.0 %  ratio   4.00" in summary


# Pictures


def test_pictures_are_drawn_of_few_cells_and_of_results_without_the_headline(tmp_path):
    only_large = results_of([cell(size=1024), cell(size=8192, runs=[(100, 50), (100, 60)])])
    written = plot_results.plot_all(only_large, str(tmp_path))
    assert sorted(map(os.path.basename, written)) == ["throughput.png", "throughput.svg"]
    assert all(map(is_picture, written))


def test_the_headline_is_written_where_it_is_asked_for(tmp_path):
    file = tmp_path / "results.json"
    file.write_text(json.dumps(results_of([cell(), cell("PUSH_PULL", "inproc", runs=[(100, 90)])])))
    for name in ("one/throughput", "two/throughput.svg"):
        assert plot_results.main([str(file), "--headline", str(tmp_path / name)]) == 0
    for name in ("one/throughput.svg", "one/throughput.png", "two/throughput.svg", "two/throughput.png"):
        assert is_picture(str(tmp_path / name))


def test_equal_results_make_equal_pictures(tmp_path):
    for name in ("a", "b"):
        plot_results.plot_headline(results_of([cell()]), str(tmp_path / name))
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_file_without_results_is_refused(tmp_path, capsys):
    for text in ("", "{}", '{"cells": []}'):
        (tmp_path / "results.json").write_text(text)
        assert plot_results.main([str(tmp_path / "results.json")]) == 1
    assert plot_results.main([str(tmp_path / "missing.json")]) == 1
    assert capsys.readouterr().err.count("no results") == 2


def test_sizes_named_on_an_axis_stand_apart():
    assert plot_results.spaced(runner.SIZES) == [262144, 65536, 8192, 1024, 256, 64]


def test_a_picture_shows_the_mark_that_most_cells_have():
    assert plot_results.usual_mark([cell(hwm=0), cell(hwm=7), cell(hwm=7)]) == 7


# The sweep


def test_a_sweep_compares_each_setting_with_the_default_of_its_round(build_dir, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ZMQ_ASIO_IN_BATCH_SIZE", "7")  # must not become the default that is compared with
    table = tmp_path / "table.md"
    status = sweep_batches.main(["--patterns", "PAIR", "--transports", "ipc", "--sizes", "64", "--batches", "1024,2048",
                                 "--rounds", "3", "--build-dir", build_dir, "--reuse-build", "--output", str(table)])
    text = capsys.readouterr().out
    assert status == 0
    assert text == table.read_text()
    reading, writing = text.split("### ZMQ_ASIO_")[1:]
    assert reading.startswith("IN_BATCH_SIZE\n") and writing.startswith("OUT_BATCH_SIZE\n")
    assert "| pattern | transport | octets | default | 1K | 2K | spread |" in reading
    assert "| PAIR | ipc | 64 | 4 | 0.50 | 1.00 | 0 % |" in reading
    assert "| PAIR | ipc | 64 | 4 | 1.00 | 1.00 | 0 % |" in writing


def test_a_sweep_tells_what_failed(build_dir, capsys):
    status = sweep_batches.main(["--patterns", "PAIR", "--transports", "tcp", "--sizes", "64", "--batches", "7", "--rounds", "1",
                                 "--build-dir", build_dir])
    assert status == 1
    assert "SIZE=7 is ignored" in capsys.readouterr().err


def test_every_setting_of_a_sweep_is_a_doubling_from_1k_to_256k():
    settings = sweep_batches.settings_of(sweep_batches.parse([]))
    assert settings[0] == sweep_batches.DEFAULT
    assert len(settings) == 19
    assert {octets for _, octets in settings[1:]} == {1024 * 2 ** step for step in range(9)}
