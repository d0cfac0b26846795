"""The wheel for Python, made of the library that brings all it needs: installed by pip, and used under the distribution's pyzmq and under that
of PyPI, which has a libzmq of its own inside."""

import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARY = pathlib.Path(os.environ["ZLINK_LIBRARY_DIR"], "bundled/libzmq.so.5")
PYTHON = sys.executable
PATIENCE = 60
WHEEL_OF_PYZMQ = ROOT / "build/pyzmq"
# Where each pyzmq comes from: a folder, or what the interpreter has.
PYZMQS = {"of_pypi": WHEEL_OF_PYZMQ, "of_the_distribution": None}
USES_ZLINK = "import zmq; print(zmq.has('tls'))"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    place = tmp_path_factory.mktemp("wheel")
    subprocess.run([PYTHON, ROOT / "packaging/python/build_wheel.py", LIBRARY, place], check=True)
    return next(place.iterdir())


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    place = tmp_path_factory.mktemp("installed")
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--root-user-action=ignore", "--target", place, wheel],
                   check=True)
    return place


@pytest.fixture(params=PYZMQS)
def python(request, installed, tmp_path):
    """Runs the interpreter with the wheel and that pyzmq: what it has said, or how it has ended."""
    folders = [installed, PYZMQS[request.param]]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "ZLINK_", "PYTHON"))}
    environment["PYTHONPATH"] = os.pathsep.join(str(folder) for folder in folders if folder)

    def run(*arguments, status=0):
        done = subprocess.run([PYTHON, *map(str, arguments)], env=environment, cwd=tmp_path, text=True, capture_output=True,
                              timeout=PATIENCE, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout if status == 0 else done.stdout + done.stderr

    return run


def test_a_wheel_says_what_its_library_needs(wheel):
    tag = re.fullmatch(r"zlinkmq-[\d.]+-py3-none-manylinux_2_(\d+)_(x86_64|aarch64)\.whl", wheel.name)
    assert int(tag[1]) < int(os.confstr("CS_GNU_LIBC_VERSION").split(".")[1]), "it is for an older C library than this one"
    with zipfile.ZipFile(wheel) as files:
        assert files.testzip() is None
        built = {}
        exec(files.read("zlinkmq/_built.py"), built)  # pylint: disable=exec-used
    assert built["OPTIONS"]["tls_cert"] == (0x5A00, "string")
    assert built["OPTIONS"]["curve_secretkey"] == (49, "key")
    assert "io_threads" not in built["OPTIONS"], "that is a context's"


def test_a_wheel_is_the_same_when_it_is_made_again(wheel, tmp_path):
    subprocess.run([PYTHON, ROOT / "packaging/python/build_wheel.py", LIBRARY, tmp_path], check=True)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_a_library_that_needs_others_is_refused(tmp_path):
    done = subprocess.run([PYTHON, ROOT / "packaging/python/build_wheel.py", LIBRARY.parents[1] / "libzmq.so.5", tmp_path], text=True,
                          capture_output=True, check=False)
    assert done.returncode != 0 and "libssl" in done.stderr


def test_run_looks_at_a_program_in_a_python_without_getxattr(python):
    # As those for musl.
    program = "import os; del os.getxattr; from zlinkmq import _program; print(_program.obstacle('/usr/bin/env'), _program.obstacle('/usr/bin/passwd'))"
    assert re.match("None it is setuid", python("-c", program))


def test_without_a_word_pyzmq_uses_what_it_has(python):
    assert python("-c", USES_ZLINK) == "False\n"
    assert "to change" in python("-m", "zlinkmq", "doctor", status=1)


def test_a_program_that_is_run_uses_zlink_and_so_do_its_children(python):
    assert python("-m", "zlinkmq", "run", "--", PYTHON, "-c", USES_ZLINK) == "True\n"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {USES_ZLINK!r}], check=True)"
    assert python("-m", "zlinkmq", "run", "--", PYTHON, "-c", child) == "True\n"
    assert "zlink, as libzmq 4.3.5" in python("-m", "zlinkmq", "run", "--", PYTHON, "-m", "zlinkmq", "doctor")


def test_a_program_that_is_not_there_is_named(python):
    assert "no_such_program: No such file" in python("-m", "zlinkmq", "run", "--", "no_such_program", status=127)
    assert "no program" in python("-m", "zlinkmq", "run", status=2)


def test_a_program_is_ruled_by_a_policy_that_is_named(python, tmp_path):
    (tmp_path / "policy.toml").write_text("this is none")
    asks = "import zlinkmq; zlinkmq.policy_is_in_force()"
    said = python("-m", "zlinkmq", "run", "--policy", "policy.toml", "--log", "warn", "--", PYTHON, "-c", asks, status=1)
    assert "RuntimeError: ZLINK_POLICY" in said
    assert python("-m", "zlinkmq", "run", "--", PYTHON, "-c", asks) == ""


@pytest.fixture
def odd_programs(tmp_path):
    """Programs that do not load what is preloaded, or load it in vain."""
    (tmp_path / "main.c").write_text("int main(void) { return 3; }\n")
    (tmp_path / "zmq.c").write_text("int zmq_ctx_new(void) { return 0; }\nint main(void) { return zmq_ctx_new() + 3; }\n")
    build = lambda *arguments: subprocess.run(["gcc", *arguments], cwd=tmp_path, check=True)
    build("-static", "-o", "static", "main.c")
    build("-o", "with_libzmq", "zmq.c")
    build("-o", "with_rights", "main.c")
    (tmp_path / "with_rights").chmod(0o4755)
    (tmp_path / "script").write_text("#!./static\n")
    (tmp_path / "script_of_env").write_text("#!/usr/bin/env -i static\n")
    for name in ("script", "script_of_env"):
        (tmp_path / name).chmod(0o755)
    return {"static": "statically", "with_libzmq": "linked into it", "with_rights": "setuid", "script": "statically", "script_of_env": "first line"}


def test_a_program_that_would_obey_no_policy_is_not_started(python, odd_programs, tmp_path):
    (tmp_path / "policy.toml").write_text('default = "clear"\n')
    for name, why in odd_programs.items():
        said = python("-m", "zlinkmq", "run", "--policy", "policy.toml", "--", f"./{name}", status=5)
        assert "would obey no policy" in said and why in said
    assert "will not run on zlink" in python("-m", "zlinkmq", "run", "--", "./static", status=3)
    assert python("-m", "zlinkmq", "run", "--policy", "policy.toml", "--", PYTHON, "-c", USES_ZLINK) == "True\n"


def test_activation_holds_for_the_program_and_its_children(python):
    program = f"""
import zlinkmq
zlinkmq.activate()
zlinkmq.activate()
{USES_ZLINK}
import multiprocessing, subprocess, sys
subprocess.run([sys.executable, "-c", {USES_ZLINK!r}], check=True)
with multiprocessing.get_context("spawn").Pool(1) as pool:
    print(pool.apply(zmq.has, ("tls",)))
"""
    assert python("-c", program) == "True\n" * 3


def test_activation_without_children_leaves_the_environment(python):
    assert python("-c", "import os, zlinkmq; zlinkmq.activate(children=False); print('LD_PRELOAD' in os.environ)") == "False\n"


def test_activation_behind_the_import_of_pyzmq_is_an_error(python):
    assert "comes too late" in python("-c", "import zmq, zlinkmq; zlinkmq.activate()", status=1)


def test_options_are_for_processes_on_zlink(python):
    program = "import zmq, zlinkmq; zlinkmq.set_options(zmq.Context().socket(zmq.PULL), linger=0)"
    assert "NotActive: this process does not use zlink" in python("-c", program, status=1)


def test_options_have_names_and_types(python):
    program = """
import zlinkmq; zlinkmq.activate()
import pathlib, zmq
context = zmq.Context()
socket = context.socket(zmq.PULL)
zlinkmq.set_options(socket, tls_ca=pathlib.Path("ca.pem"), RCVHWM=5, tls_verify=False, affinity=1, maxmsgsize=-1, routing_id=b"a")
print([zlinkmq.get_option(socket, name) for name in ("tls_ca", "rcvhwm", "tls_verify", "affinity", "maxmsgsize", "routing_id")])
for wrong in ({"no_such": 1}, {"tls_ca": 1}, {"rcvhwm": "a"}, {"rcvhwm": -5}):
    try:
        zlinkmq.set_options(socket, **wrong)
    except (TypeError, ValueError, zmq.ZMQError) as error:
        print(type(error).__name__, error)
"""
    assert python("-c", program).splitlines() == [
        "['ca.pem', 5, False, 1, -1, b'a']",
        "ValueError zlink has no socket option 'no_such'; zlinkmq.option_names() lists them",
        "TypeError tls_ca is text or octets (string), not int",
        "TypeError rcvhwm is a number or a truth value (int), not str",
        "ZMQError rcvhwm: Invalid argument (ZLINK_LOG=warn tells why)",
    ]


def test_two_sockets_of_pyzmq_speak_tls_by_options_with_names(python, files):
    program = """
import sys, zlinkmq; zlinkmq.activate()
import zmq
folder = sys.argv[1]
with zmq.Context() as context, context.socket(zmq.PULL) as pull, context.socket(zmq.PUSH) as push:
    zlinkmq.set_options(pull, tls_cert=folder + "/server.pem", tls_key=folder + "/server.key", tls_ca=folder + "/ca.pem",
                        tls_require_client_cert=True, rcvtimeo=20000, linger=0)
    pull.bind("tls://127.0.0.1:*")
    zlinkmq.set_options(push, tls_ca=folder + "/ca.pem", tls_cert=folder + "/client.pem", tls_key=folder + "/client.key", linger=0)
    push.connect(pull.last_endpoint.decode().replace("127.0.0.1", "localhost"))
    push.send(b"sealed")
    print(pull.recv().decode())
"""
    assert python("-c", program, files) == "sealed\n"


def test_a_model_server_runs_on_zlink(python, tmp_path):
    python("-m", "zlinkmq", "run", "--", PYTHON, HERE / "serving.py", tmp_path)


def test_a_process_that_runs_can_be_looked_at(python):
    program = """
import os, subprocess, sys, zlinkmq; zlinkmq.activate()
import zmq
print(subprocess.run([sys.executable, "-m", "zlinkmq", "doctor", str(os.getpid())], text=True, capture_output=True).stdout.split()[0])
"""
    assert python("-c", program) == "zlink\n"
