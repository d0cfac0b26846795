"""zlink run and zlink doctor."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from conftest import COMMAND, run

LIBRARY = pathlib.Path(COMMAND).parents[1] / "lib" / "libzmq.so.5"
pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="there is no shared library in this build")
ASKS = "import zmq; print(zmq.has('tls'), zmq.zmq_version())"


def without(*names):
    return {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "LD_LIBRARY_PATH", *names)}


def test_pyzmq_runs_on_zlink():
    assert run("run", "--", "/usr/bin/python3", "-c", ASKS, env=without()) == b"True 4.3.5\n"
    assert run("run", "/usr/bin/python3", "-c", ASKS, env=without()) == b"True 4.3.5\n"


def test_the_exit_status_is_that_of_the_program():
    run("run", "--", "sh", "-c", "exit 42", status=42)
    run("run", "--", "/nonexistent/program", status=127)
    run("run", "--", "no-such-program", status=127)
    run("run", "--", pathlib.Path(__file__), status=126)
    run("run", status=2)


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_scripts_start_by_way_of_env_and_without_a_first_line(tmp_path):
    says = "import os, sys; print(os.environ.get('X'), '-u' in sys.orig_argv)"
    env = without("X")
    for first, said in (("", b"None False\n"), ("-S python3 -u", b"None True\n"), ("-S X=y python3 -u", b"y True\n"), ("-S -u X -- python3", b"None False\n")):
        script = executable(tmp_path / "script", f"#!/usr/bin/env {first or 'python3'}\n{says}\n")
        assert run("run", "--", script, env=env) == said
        assert ("cannot" in run.err or "does not tell" in run.err) == ("-u X" in first)
    assert run("run", "--", executable(tmp_path / "plain", "echo $0 $1\n"), "a") == f"{tmp_path}/plain a\n".encode()
    run("run", "--", executable(tmp_path / "orphan", "#!/nonexistent/interpreter\n"), status=127)


def test_the_program_that_is_looked_at_is_the_one_that_runs(tmp_path, static_program):
    # An empty element of PATH is the folder where one is; execvp and a shell see it so.
    static_program.rename(tmp_path / "true")
    policy = tmp_path / "policy.toml"
    policy.write_text("")
    for path, status in (("/nonexistent::/usr/bin", 5), ("/usr/bin:", 0)):
        run("run", "--policy", policy, "--", "true", status=status, cwd=tmp_path, env=dict(without(), PATH=path))


def test_flags_behind_the_program_are_the_programs():
    assert run("run", "--log", "info", "--", "sh", "-c", 'echo "$ZLINK_LOG $1"', "x", "--log") == b"info --log\n"


def test_trace_has_the_library_tell_each_step():
    assert run("run", "--trace", "--", "sh", "-c", 'echo "$ZLINK_LOG"') == b"debug\n"
    asks = "import zmq\nwith zmq.Context() as c, c.socket(zmq.PULL) as s:\n    s.bind('tcp://127.0.0.1:*')"
    run("run", "--trace", "--", "/usr/bin/python3", "-c", asks, env=without())
    assert "zlink: debug: " in run.err
    run("run", "--trace", "--log", "info", "--", "true", status=2)


def test_a_program_under_a_policy_is_refused_what_no_entry_allows(tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text("")
    policy.chmod(0o600)
    binds = "import zmq\ntry:\n    zmq.Context().socket(zmq.PULL).bind('tcp://127.0.0.1:*')\nexcept zmq.ZMQError as e:\n    print(e)"
    assert b"Permission denied" in run("run", "--policy", policy, "--", "/usr/bin/python3", "-c", binds, env=without())
    run("run", "--policy", tmp_path / "none", "--", "true", status=2)


@pytest.fixture
def static_program(tmp_path):
    (tmp_path / "a.c").write_text("int main(void) { return 0; }")
    subprocess.run(["cc", "-static", "a.c", "-o", "static"], cwd=tmp_path, check=True)
    return tmp_path / "static"


@pytest.fixture
def program_with_libzmq(tmp_path):
    (tmp_path / "b.c").write_text("void *zmq_ctx_new(void) { return 0; } int main(void) { return zmq_ctx_new() != 0; }")
    subprocess.run(["cc", "b.c", "-o", "linked"], cwd=tmp_path, check=True)
    return tmp_path / "linked"


@pytest.mark.parametrize("which", ["static_program", "program_with_libzmq"])
def test_under_a_policy_a_program_that_would_not_obey_it_is_not_started(which, request, tmp_path):
    program = request.getfixturevalue(which)
    policy = tmp_path / "policy.toml"
    policy.write_text("")
    run("run", "--policy", policy, "--", program, status=5)
    assert "would obey no policy" in run.err
    run("run", "--", program, status=5, env=dict(os.environ, ZLINK_POLICY=str(policy)))
    script = tmp_path / "script"
    script.write_text(f"#!{program} -x\n")
    script.chmod(0o755)
    run("run", "--policy", policy, "--", script, status=5)
    run("run", "--", program)
    assert "will not run on zlink" in run.err
    run("run", "--", program, status=5, env=dict(os.environ, ZLINK_POLICY=""))
    run("run", "--policy", "", "--", program, status=2)


@pytest.mark.parametrize("first", ["-S -i python3", "-S -u LD_PRELOAD python3", "-S ZLINK_POLICY= python3", "-S PATH=/tmp python3", "-S 'python3'"])
def test_under_a_policy_env_must_not_change_what_is_loaded(tmp_path, first):
    policy = tmp_path / "policy.toml"
    policy.write_text("")
    script = executable(tmp_path / "script", f"#!/usr/bin/env {first}\nprint('ran')\n")
    run("run", "--policy", policy, "--", script, status=5)
    run("run", "--policy", policy, "--", executable(script, "#!/usr/bin/env -S X=y python3 -u\n"))


def test_a_file_that_only_looks_like_a_program_does_no_harm(tmp_path):
    for number, octets in enumerate((b"\x7fELF", pathlib.Path("/bin/sh").read_bytes()[:3000], b"\x7fELF\2\1\1" + b"\xff" * 200)):
        file = tmp_path / str(number)
        file.write_bytes(octets)
        run("doctor", file, status=1)


def test_doctor_tells_of_this_machine():
    said = run("doctor", status=1, env=without()).decode()
    assert str(LIBRARY) in said and "descriptors" in said and "somaxconn" in said
    run("doctor", env=dict(without(), LD_LIBRARY_PATH=str(LIBRARY.parent)))


def test_doctor_tells_of_a_process():
    for prefix, status, kind in (([COMMAND, "run"], 0, b"zlink"), ([], 1, b"libzmq")):
        asks = [*prefix, "/usr/bin/python3", "-c", "import zmq; print(flush=True); input()"]
        with subprocess.Popen(asks, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=without()) as process:
            process.stdout.readline()
            said = run("doctor", str(process.pid), status=status)
            assert said.startswith(kind) and b"libzmq.so.5" in said
            process.communicate(b"\n")
    run("doctor", "999999999", status=1)


def test_doctor_tells_of_a_program():
    assert b"may load it later" in run("doctor", "/usr/bin/python3", status=1, env=without())
    run("doctor", sys.executable, env=dict(without(), LD_PRELOAD=str(LIBRARY)))
    run("doctor", "no-such-program", status=1)
    assert b"linked into it" in run("doctor", shutil.which(COMMAND))


# ---- zlink-run, which the Debian package has beside the library ----


@pytest.fixture
def packaged(tmp_path):
    """A folder with zlink-run in it, as the package zlink has it."""
    source = pathlib.Path(__file__).parents[2] / "packaging/debian/zlink-run"
    (tmp_path / "bin").mkdir()
    shutil.copy(source, tmp_path / "bin")
    return tmp_path / "bin"


def zlink_run(folder, *arguments, **variables):
    done = subprocess.run([folder / "zlink-run", *arguments], capture_output=True, text=True, env=dict(without("ZLINK_POLICY"), **variables), check=False)
    return done.returncode, done.stdout, done.stderr


def test_zlink_run_has_zlink_look_at_the_program_under_a_policy(tmp_path, packaged, static_program):
    (packaged / "zlink").symlink_to(COMMAND)
    policy = tmp_path / "policy.toml"
    policy.write_text("")
    policy.chmod(0o600)
    assert zlink_run(packaged, static_program) == (0, "", "")
    for flags, variables in (([f"--policy={policy}"], {}), (["--preload", "--policy", policy], {}), ([], {"ZLINK_POLICY": str(policy)}), ([], {"ZLINK_POLICY": ""})):
        status, _, said = zlink_run(packaged, *flags, "--", static_program, **variables)
        assert status == 5 and "linked statically" in said
    shows = zlink_run(packaged, "--policy", policy, "sh", "-c", 'echo "$ZLINK_POLICY $1 $LD_PRELOAD"', "x", "a b")
    assert shows == (0, f"{policy} a b {LIBRARY}\n", "")


def test_zlink_run_starts_nothing_under_a_policy_where_nobody_looks_at_it(tmp_path, packaged):
    for flags, variables in ((["--policy", "/etc/hosts"], {}), ([], {"ZLINK_POLICY": "/etc/hosts"})):
        status, out, said = zlink_run(packaged, *flags, "sh", "-c", "echo ran", **variables)
        assert (status, out) == (5, "") and "zlink-tools" in said
    assert zlink_run(packaged, "sh", "-c", 'echo "$LD_LIBRARY_PATH"; exit 3') == (3, "/usr/$LIB/zlink\n", "")
    for flags in (["--policy"], ["--policy", ""], ["--policy=", "true"], ["--polite", "true"]):
        assert zlink_run(packaged, *flags)[0] == 2
