"""The wheel for Python, made of the library and the command that bring all they need: installed by pip, and used under the distribution's pyzmq
and under that of PyPI, which has a libzmq of its own inside; and the command, which has the distribution's pyzmq at the other end."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import zipfile

import libraries
import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARY, COMMAND = (pathlib.Path(os.environ["ZLINK_LIBRARY_DIR"], "bundled", name) for name in ("libzmq.so.5", "zlink"))
PYTHON = sys.executable
PATIENCE = 60
WHEEL_OF_PYZMQ = ROOT / "build/pyzmq"
# Where each pyzmq comes from: a folder, or what the interpreter has.
PYZMQS = {"of_pypi": WHEEL_OF_PYZMQ, "of_the_distribution": None}
USES_ZLINK = "import zmq; print(zmq.has('tls'))"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    place = tmp_path_factory.mktemp("wheel")
    subprocess.run([PYTHON, ROOT / "packaging/python/build_wheel.py", LIBRARY, COMMAND, place], check=True)
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
    assert int(tag[1]) <= 27, "it is for an older C library than this one"
    with zipfile.ZipFile(wheel) as files:
        assert files.testzip() is None
        built = {}
        exec(files.read("zlinkmq/_built.py"), built)  # pylint: disable=exec-used
    assert built["OPTIONS"]["tls_cert"] == (0x5A00, "string")
    assert built["OPTIONS"]["curve_secretkey"] == (49, "key")
    assert "io_threads" not in built["OPTIONS"], "that is a context's"


def test_a_wheel_is_the_same_when_it_is_made_again(wheel, tmp_path):
    subprocess.run([PYTHON, ROOT / "packaging/python/build_wheel.py", LIBRARY, COMMAND, tmp_path], check=True)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


@pytest.mark.parametrize("library, command, needs", [(LIBRARY.parents[1] / "libzmq.so.5", COMMAND, "libssl"), (LIBRARY, "/usr/bin/openssl", "libssl")])
def test_what_needs_others_is_refused(library, command, needs, tmp_path):
    done = subprocess.run([PYTHON, ROOT / "packaging/python/build_wheel.py", library, command, tmp_path], text=True, capture_output=True, check=False)
    assert done.returncode != 0 and needs in done.stderr


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


class Venv:
    """A virtual environment with the wheel in it, and the distribution's libzmq where the dynamic linker looks first."""

    def __init__(self, place, wheel):
        self.place = place
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", place], check=True)
        subprocess.run([PYTHON, "-m", "pip", "--python", place / "bin/python", "install", "--quiet", "--no-deps", "--no-index", wheel], check=True)
        (self.package,) = place.glob("lib/python*/site-packages/zlinkmq")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "ZLINK_", "PYTHON"))}
        self.environment = {**kept, "PATH": f"{place}/bin:{os.environ['PATH']}", "LD_LIBRARY_PATH": libraries.distribution_library_dir()}

    def start(self, *arguments, **more):
        return subprocess.Popen(["zlink", *map(str, arguments)], env=self.environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **more)

    def run(self, *arguments, status=0):
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == status, out + err
        return out


@pytest.fixture(scope="module")
def venv(wheel, tmp_path_factory):
    return Venv(tmp_path_factory.mktemp("venv"), wheel)


def test_pip_puts_the_command_on_the_path(venv):
    assert re.match(r"zlink [\d.]+, with the interface of libzmq 4\.3\.5\nbuilt in: ipc tls ", venv.run("--version"))
    assert pathlib.Path(venv.run("run", "--", "python", "-m", "zlinkmq", "command").strip()) == venv.package / "zlink"


def test_the_command_speaks_with_libzmq(venv, tmp_path):
    program = """
import sys, zmq
assert not zmq.has("tls")
with zmq.Context() as context, context.socket(zmq.REP) as rep, context.socket(zmq.SUB) as sub:
    sub.subscribe("weather")
    sub.bind(f"ipc://{sys.argv[1]}/sub")
    rep.bind(f"ipc://{sys.argv[1]}/rep")
    rep.send(rep.recv())
    print(*sub.recv_multipart())
"""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "ZLINK_", "PYTHON"))}
    with subprocess.Popen([PYTHON, "-c", program, tmp_path], env=kept, text=True, stdout=subprocess.PIPE) as other:
        try:
            assert venv.run("req", f"ipc://{tmp_path}/rep", "-m", "asked") == "asked\n"
            venv.run("pub", "-c", f"ipc://{tmp_path}/sub", "-t", "weather", "-m", "rain")
            assert other.communicate(timeout=PATIENCE)[0] == "b'weather' b'rain'\n"
        finally:
            other.kill()


def test_the_command_tells_how_it_ended(venv, tmp_path):
    venv.run("pull", f"@ipc://{tmp_path}/pull", "-W", "10ms", status=3)
    venv.run("push", status=2)
    assert venv.run("run", "--", "sh", "-c", "echo said; exit 77", status=77) == "said\n"


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_signals_are_for_the_command_itself(venv, tmp_path, number, status):
    with venv.start("pull", f"@ipc://{tmp_path}/pull", "-v", start_new_session=True) as process:
        try:
            assert "bound" in process.stderr.readline()
            # It is the program of the wheel, with a zlink of its own, and no interpreter is left.
            assert pathlib.Path(f"/proc/{process.pid}/exe").readlink() == venv.package / "zlink"
            assert "libzmq" not in pathlib.Path(f"/proc/{process.pid}/maps").read_text()
            process.send_signal(number)
            process.communicate(timeout=PATIENCE)
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == status


def test_the_command_inherits_nothing_of_the_interpreter(venv):
    """What is ignored, as a child of it sees it: Python ignores a broken pipe, and programs end by it."""
    asks = ["run", "--", "grep", "SigIgn", "/proc/self/status"]
    by_itself = subprocess.run([venv.package / "zlink", *asks], env=venv.environment, text=True, capture_output=True, check=True).stdout
    assert venv.run(*asks) == by_itself


def test_what_the_command_runs_is_on_the_library_of_the_wheel(venv):
    finds = "import ctypes; ctypes.CDLL('libzmq.so.5'); print(*{line.split()[5] for line in open('/proc/self/maps') if 'libzmq' in line})"
    assert venv.run("run", "--", PYTHON, "-c", finds).strip() == str(venv.package / "libzmq.so.5")
    said = venv.run("doctor", status=1)  # what others find is not changed by it
    assert re.search(rf"^zlink run +{venv.package}/libzmq\.so\.5$", said, re.M)
    assert re.search(rf"^libzmq\.so\.5 +{libraries.distribution_library_dir()}/libzmq\.so\.5 \(libzmq\)$", said, re.M)
