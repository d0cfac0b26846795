"""A pytest plugin: proves which libzmq.so.5 the process uses, leaves out the tests that need what is not asked for, and lets the
subscriptions of one test arrive.

ZLINK_LIBRARY_DIR is the directory the library must come from.
"""

import os
import sys
import time

import pytest

# With gevent pyzmq has some hundred tests more, two of which count warnings that this suite turns off, and which would make up for others
# that are missing. What decides is the same on every machine.
sys.modules["gevent"] = None

SONAME = "libzmq.so.5"
# Publishes over tcp right after it has subscribed. A subscription takes effect when the publisher has read it, which takes as
# long as it takes to wake a thread: any library can lose that race, and libzmq does.
RACING = "test_blank_root_topic"
SUBSCRIPTION_S = 0.1  # what the other tests of its file wait


def mapped_libraries():
    """The files called libzmq.so* that this process has mapped."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = {line.split(maxsplit=5)[5].strip() for line in maps if "libzmq.so" in line}
    return sorted(paths)


def takes_a_compiler(item):
    return item.path.name == "test_cython.py"


def pytest_sessionstart(session):
    import zmq  # the extension maps the library

    wanted = os.path.realpath(os.path.join(os.environ["ZLINK_LIBRARY_DIR"], SONAME))
    found = mapped_libraries()
    if [os.path.realpath(path) for path in found] != [wanted]:
        pytest.exit("mapped %s instead of %s" % (found, wanted), returncode=70)
    print("mapped %s, version %s" % (wanted, zmq.zmq_version()))


def pytest_collection_modifyitems(config, items):
    left_out = [item for item in items if takes_a_compiler(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not takes_a_compiler(item)]


@pytest.fixture(autouse=True)
def subscriptions_arrive(request, monkeypatch):
    if request.node.name != RACING:
        return
    import zmq

    set_now = zmq.Socket.setsockopt

    def set_and_wait(self, option, *value):
        set_now(self, option, *value)
        if option == zmq.SUBSCRIBE:
            time.sleep(SUBSCRIPTION_S)

    monkeypatch.setattr(zmq.Socket, "setsockopt", set_and_wait)
