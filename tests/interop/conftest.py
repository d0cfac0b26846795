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


def blocks_of_the_guide(heading, language):
    """What stands under that heading, block by block."""
    section = GUIDE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(rf"```{language}\n([\s\S]*?)```", section)


def do_as_the_guide_says(heading, directory, put=lambda script: script):
    for script in blocks_of_the_guide(heading, "sh"):
        subprocess.run(["sh", "-e", "-c", put(script)], cwd=directory, check=True, capture_output=True)


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """What the guide says, done."""
    directory = tmp_path_factory.mktemp("certificates")
    do_as_the_guide_says("An authority and two certificates", directory)
    return directory
