"""Programs that run with more rights than the user who starts them do not obey that user's environment.

The program is made here: it binds, and tells what came of it. With the bit in its mode it is root's, and nobody starts it; without, root
does, and the environment counts.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest

OURS = pathlib.Path(os.environ["ZLINK_LIBRARY_DIR"])
INCLUDE = pathlib.Path(__file__).parents[2] / "include"
NOBODY = 65534
PATIENCE = 60

PROGRAM = r"""
#include <errno.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <zmq.h>

int main(void) {
    void *context = zmq_ctx_new(), *pair = zmq_socket(context, ZMQ_PAIR);
    const char *outcome = zmq_bind(pair, "tcp://127.0.0.1:*") == 0 ? "bound" : errno == EACCES ? "refused" : "failed";
    printf("%s %s\n", getauxval(AT_SECURE) ? "secure" : "plain", outcome);
    fflush(stdout);
    getchar();
    zmq_close(pair);
    return zmq_ctx_term(context);
}
"""


def obstacle(directory):
    """Why no program can get rights by its mode; None where one can."""
    if os.geteuid() != 0:
        return "only root can make a program that is root's"
    if os.statvfs(directory).f_flag & os.ST_NOSUID:
        return f"{directory} is mounted nosuid"
    if "NoNewPrivs:\t0" not in pathlib.Path("/proc/self/status").read_text():
        return "no program may get rights here (no_new_privs)"
    return None


@pytest.fixture
def program():
    """It stands in a folder that every user may look into, beside the library that it runs on."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="zlink-rights-"))
    try:
        if why := obstacle(directory):
            pytest.skip(why)
        directory.chmod(0o755)
        shutil.copy(OURS / "libzmq.so.5", directory)
        (directory / "program.c").write_text(PROGRAM)
        built = directory / "program"
        subprocess.run(["gcc", "-I", INCLUDE, "-o", built, directory / "program.c", directory / "libzmq.so.5", f"-Wl,-rpath,{directory}"], check=True)
        yield built
    finally:
        shutil.rmtree(directory)


def run(program, environment, is_setuid, while_it_runs=lambda: None):
    program.chmod(0o4755 if is_setuid else 0o755)
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if is_setuid else {}
    with subprocess.Popen([program], env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **who) as process:
        said = process.stdout.readline().split()
        seen = while_it_runs()
        process.communicate("\n", timeout=PATIENCE)
    assert process.returncode == 0
    assert said[:1] == ["secure" if is_setuid else "plain"]
    return said[1], seen


@pytest.mark.parametrize("is_setuid", [False, True])
def test_a_policy_is_that_of_who_has_the_rights(program, is_setuid):
    policy = program.parent / "policy.toml"
    policy.write_text('default = "refuse"\n')
    policy.chmod(0o644)
    assert run(program, {"ZLINK_POLICY": str(policy)}, is_setuid)[0] == ("bound" if is_setuid else "refused")


@pytest.mark.parametrize("is_setuid", [False, True])
def test_numbers_are_not_written_where_somebody_else_says(program, is_setuid):
    numbers = program.parent / "numbers"

    def appears():
        until = time.monotonic() + (0 if is_setuid else PATIENCE)  # it is there before the first context is
        while not numbers.exists() and time.monotonic() < until:
            time.sleep(0.01)
        return numbers.exists()

    assert run(program, {"ZLINK_METRICS": f"file:{numbers}"}, is_setuid, appears) == ("bound", not is_setuid)
