"""A cell in a kernel of Jupyter, in clear and with CURVE, where pyzmq has loaded zlink; by hand, for Jupyter has to be fetched.

  python3 -m venv jupyter && ZMQ_PREFIX=PREFIX jupyter/bin/pip install --no-binary pyzmq ipykernel jupyter_client pyzmq
  LD_LIBRARY_PATH=build/release/lib jupyter/bin/python tests/interop/jupyter.py

PREFIX has include/zmq.h and lib/libzmq.so. The library that is loaded is said by manager and kernel.
"""

import sys

from jupyter_client.manager import KernelManager

PATIENCE_S = 60
CELL = "import re; print(6 * 7, *set(re.findall(r'/\\S*libzmq\\S*', open('/proc/self/maps').read())))"


def run(encryption):
    manager = KernelManager()
    manager.transport_encryption = encryption
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=PATIENCE_S)
        said = []
        reply = client.execute_interactive(CELL, timeout=PATIENCE_S,
                                           output_hook=lambda message: said.append(message["content"].get("text", "")))
        beats = client.hb_channel.is_beating()
        print("%s, %s: %s" % (encryption, "CURVE" if manager.curve_publickey else "clear", "".join(said).strip()), flush=True)
        return reply["content"]["status"] == "ok" and "".join(said).startswith("42") and beats
    finally:
        client.stop_channels()
        manager.shutdown_kernel()


if __name__ == "__main__":
    sys.exit(0 if all([run("disabled"), run("required")]) else 1)
