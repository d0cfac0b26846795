"""What commands leave in a tree that `git add -A` would take: a test copies the sources, has the commands of a page run, and asks."""

import shutil
import subprocess


def git(tree, *arguments):
    return subprocess.run(["git", "-C", tree, *arguments], check=True, capture_output=True, text=True).stdout


def remember(tree, sources):
    """Has git know all that is there, and what the sources have it ignore."""
    shutil.copy(sources / ".gitignore", tree)
    git(tree, "init", "-q")
    git(tree, "add", "-A")


def left_behind(tree):
    """Names of files that have come since, and that git does not ignore."""
    return git(tree, "ls-files", "--others", "--exclude-standard").splitlines()
