#!/usr/bin/python3
"""Types the first letters of a subcommand of zlink and of an option into a shell, presses TAB behind each, and says what the shell makes of them.

Usage: press_tab.py bash|zsh
"""

import os
import pty
import re
import select
import sys
import time

PROMPT, PATIENCE_S = "your turn: ", 60
SETUP = {"bash": ". /usr/share/bash-completion/bash_completion", "zsh": "autoload -Uz compinit && compinit -u -D"}
ARGUMENTS = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}


class Shell:
    def __init__(self, name):
        environment = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere", "PS1": PROMPT, "TERM": "dumb", "LC_ALL": "C"}
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.execvpe(name, [name, *ARGUMENTS[name]], environment)

    def until(self, pattern):
        """Reads what it says until that is in it."""
        seen, end = "", time.monotonic() + PATIENCE_S
        while not (found := re.search(pattern, seen)):
            if not select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
                sys.exit(f"it says {seen!r}, and nothing of {pattern}")
            seen += os.read(self.terminal, 4096).decode(errors="replace")
        return found

    def type(self, text):
        os.write(self.terminal, text.encode())


def main(name):
    shell = Shell(name)
    # What it makes of the line is what the command would get.
    for line in (SETUP[name], "zlink() { printf '\\nit gets: <%s>\\n' \"$*\"; }"):
        shell.until(PROMPT)
        shell.type(line + "\n")
    shell.until(PROMPT)
    shell.type("zlink su\t--topi\t\n")
    print(shell.until("it gets: <(?!%)(.*)>")[1])


if __name__ == "__main__":
    main(sys.argv[1])
