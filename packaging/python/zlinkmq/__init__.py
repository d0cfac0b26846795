"""zlink for Python: the library, and the ways by which pyzmq, or any program, comes to use it in place of libzmq.

A program that nobody changes:          python -m zlinkmq run -- python program.py
A program whose first line you write:   import zlinkmq; zlinkmq.activate()
Which library is used, and why:         python -m zlinkmq doctor
Options that pyzmq has no names for:    zlinkmq.set_options(socket, tls_cert="server.pem", tls_key="server.key")
"""

from ._library import NotActive, __version__, activate, get_command, get_include, get_library, is_active, policy_is_in_force
from ._sockets import get_option, option_names, set_options

__all__ = [
    "NotActive",
    "__version__",
    "activate",
    "get_command",
    "get_include",
    "get_library",
    "get_option",
    "is_active",
    "option_names",
    "policy_is_in_force",
    "set_options",
]
