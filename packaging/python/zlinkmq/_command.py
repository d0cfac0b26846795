"""The command zlink. It is a program of its own, which this process becomes."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from ._library import get_command


def main() -> NoReturn:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and they would stay so
        signal.signal(number, signal.SIG_DFL)
    os.execv(get_command(), ["zlink", *sys.argv[1:]])
