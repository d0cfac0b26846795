"""What the tests of foreign peers share: a context whose sockets are closed, and the certificates of docs/secure.md."""

import ctypes
import pathlib
import re
import subprocess

import pytest

from bare_socket import Socket, zmq

GUIDE = pathlib.Path(__file__).parents[2] / "docs" / "secure.md"


def contexts():
    made = ctypes.c_void_p(zmq.zmq_ctx_new())
    sockets = []

    def make(kind):
        sockets.append(Socket(made, kind))
        return sockets[-1]

    yield make
    for each in sockets:
        if each.handle is not None:
            zmq.zmq_close(each.handle)
    zmq.zmq_ctx_term(made)


@pytest.fixture
def context():
    yield from contexts()


@pytest.fixture(scope="module")
def module_context():
    yield from contexts()


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """What the guide says, done."""
    directory = tmp_path_factory.mktemp("certificates")
    script = re.search(r"```sh\n([\s\S]*?)```", GUIDE.read_text(encoding="utf-8")).group(1)
    subprocess.run(["sh", "-e", "-c", script], cwd=directory, check=True, capture_output=True)
    return directory
