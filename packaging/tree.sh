#!/bin/bash
# Copies the sources as they lie here into a directory: the files that git knows, or those of a release's tarball, where there is no git.
# What git does not know may be anybody's, a private key included. It is named and left out, but for what git ignores, which is not named.
#
# Usage: tree.sh DIRECTORY
set -euo pipefail
tree=$(realpath -m "$1")
cd "$(dirname "$0")/.."

list() { git -c safe.directory="$PWD" ls-files -z "$@"; }

files() {
    if [ -e .git ]; then
        list --cached
    else
        find . -path ./build -prune -o -type f -print0
    fi
}

if [ -e .git ]; then
    list --others --exclude-standard | tr '\0' '\n' | sed 's/^/left out, for git does not know it (git add takes it in): /' >&2
fi
mkdir -p "$tree"
files | tar -c --null --ignore-failed-read -T - | tar -x -C "$tree" # a file that was deleted is in git's list still
