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


def test_zsh_completes_it_from_a_file_of_its_folders(tmp_path):
    written = run("completion", "zsh").decode()
    assert written.startswith("#compdef zlink\n_zlink() {\n")
    assert set(re.search(r"CURRENT == 2 .*\n +compadd (.*)", written)[1].split()) == {*SUBCOMMANDS}
    flags = dict(re.findall(r"^    (\w+)\) \[\[ .* compadd -- (.*) \|\| _files ;;$", written, re.M))
    assert set(flags) == {*SUBCOMMANDS} and "--topic" in flags["sub"].split() and "--type" in flags["probe"].split()
    # Such a file is the function itself, the first time: then it has to complete, not to be defined alone.
    assert written.endswith('if [[ $funcstack[1] == _zlink ]]; then\n    _zlink "$@"\nelse\n    compdef _zlink zlink\nfi\n')
    (tmp_path / "_zlink").write_text(written)
    if zsh := shutil.which("zsh"):
        subprocess.run([zsh, "-n", tmp_path / "_zlink"], check=True, timeout=LIMIT)
        asks = ("compadd() { print -r -- $@ }; compdef() { }; fpath=($1 $fpath); autoload -U _zlink; "
                "words=(zlink ''); CURRENT=2; _zlink; words=(zlink sub --topi); CURRENT=3 PREFIX=--topi; _zlink")
        done = subprocess.run([zsh, "-f", "-c", asks, "x", tmp_path], capture_output=True, check=True, timeout=LIMIT, text=True)
        first, second = done.stdout.splitlines()
        assert {"probe", "proxy"} < set(first.split()) and "--topic" in second.split() and done.stderr == ""


def test_an_installation_has_what_completes_it(tmp_path):
    rules = pathlib.Path(COMMAND).parents[1] / "tools/command/cmake_install.cmake"
    subprocess.run(["cmake", f"-DCMAKE_INSTALL_PREFIX={tmp_path}", "-P", rules], check=True, capture_output=True, timeout=LIMIT)
    # A line of the package names a file and, where Debian wants it elsewhere, the folder it goes to.
    lines = map(str.split, (ROOT / "packaging/debian/zlink-tools.install").read_text().splitlines())
    packaged = {file: folder for file, *folder in lines}
    for shell, path, of_debian in (("bash", "bash-completion/completions/zlink", []),
                                   ("zsh", "zsh/site-functions/_zlink", ["usr/share/zsh/vendor-completions"])):
        assert (tmp_path / "share" / path).read_bytes() == run("completion", shell)
        assert packaged[f"usr/share/{path}"] == of_debian
