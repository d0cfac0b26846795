"""CURVE with the distribution's pyzmq: what docs/secure.md shows."""

import os
import subprocess

import pytest

from conftest import blocks_of_the_guide

PYTHON = "/usr/bin/python3"
OURS = os.environ["ZLINK_LIBRARY_DIR"]
PROGRAMS = os.path.join(os.path.dirname(OURS), "bin")
SECTION = "Keys without certificates: CURVE"


@pytest.fixture
def directory(tmp_path):
    env = dict(os.environ, PATH=PROGRAMS + ":" + os.environ["PATH"], LD_LIBRARY_PATH=OURS)
    for script in blocks_of_the_guide(SECTION, "sh"):
        subprocess.run(["sh", "-e", "-c", script], cwd=tmp_path, env=env, check=True)
    return tmp_path


# The listing is a program for either library.
@pytest.mark.parametrize("library", ["zlink", "libzmq"])
def test_the_listing_lets_in_the_friend_and_not_the_stranger(directory, library):
    env = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    if library == "zlink":
        env["LD_LIBRARY_PATH"] = OURS
    (listing,) = blocks_of_the_guide(SECTION, "python")
    program = listing.replace('server.bind("tcp://127.0.0.1:5556")', """server.bind("tcp://127.0.0.1:*")
endpoint = server.last_endpoint""").replace('"tcp://127.0.0.1:5556"', "endpoint") + "\nimport os\nsys.stdout.flush()\nos._exit(0)\n"
    done = subprocess.run([PYTHON, "-c", program], cwd=directory, env=env, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("from a friend alice\n", "")
