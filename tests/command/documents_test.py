"""What is written about the command is so: each listing of docs/command.md runs, and the pages of the manual are in order."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import COMMAND, LIMIT, run

ROOT = pathlib.Path(__file__).parents[2]
LISTINGS = re.findall(r"```sh\n([\s\S]*?)```", (ROOT / "docs/command.md").read_text(encoding="utf-8"))
SUBCOMMANDS = re.findall(r"^  (\w+) {2,}", run("help").decode().split("Subcommands:")[1], re.M)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/zlink").symlink_to(COMMAND)
    environment = dict(os.environ, PATH=f"{tmp_path}/bin:/usr/bin:/bin", HOME=str(tmp_path))
    for name in ("LD_LIBRARY_PATH", "LD_PRELOAD"):
        environment.pop(name, None)
    return {"cwd": tmp_path, "env": environment, "check": True, "capture_output": True, "timeout": LIMIT, "text": True}


@pytest.mark.parametrize("listing", LISTINGS, ids=[listing.split("\n")[0] for listing in LISTINGS])
def test_each_listing_of_the_guide_runs(listing, place):
    subprocess.run(["sh", "-e", "-c", listing], **place)


def test_there_are_listings_and_all_subcommands():
    assert len(LISTINGS) > 7 and {"pub", "probe", "keygen", "run", "stats", "top", "bench", "dump", "doctor", "proxy"} < set(SUBCOMMANDS)


@pytest.mark.parametrize("name", ["", *SUBCOMMANDS])
def test_each_subcommand_has_a_page_of_the_manual(name):
    page = run("help", "--man", name)
    assert b".SH EXIT STATUS" in page and f"zlink\\-{name}".encode() in page or not name
    if groff := shutil.which("groff"):
        done = subprocess.run([groff, "-man", "-ww", "-Tutf8", "-z"], input=page, capture_output=True, check=True)
        assert done.stderr == b""


def test_tests_are_not_built_without_the_command(tmp_path):
    for missing in ("CLI11", "fmt"):
        asks = ["cmake", "-S", ROOT, "-B", tmp_path / missing, "-DBUILD_TESTS=ON", f"-DCMAKE_DISABLE_FIND_PACKAGE_{missing}=ON"]
        done = subprocess.run(asks, capture_output=True, check=False, text=True, timeout=LIMIT)
        assert done.returncode != 0 and "make deps" in " ".join(done.stderr.split())


def test_a_shell_completes_it(place):
    asks = 'source <(zlink completion bash); COMP_WORDS=(zlink "$1" "$2"); COMP_CWORD=$3; _zlink; echo "${COMPREPLY[@]}"'

    def completed(*words):
        return subprocess.run(["bash", "-c", asks, "x", *words], **place).stdout.split()

    assert completed("pr", "", "1") == ["probe", "proxy"]
    assert completed("sub", "--topi", "2") == ["--topic"]
    assert run("completion", "zsh").startswith(b"#compdef zlink")
