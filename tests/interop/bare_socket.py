"""The few calls of zmq.h that the tests of foreign peers need, on the library that ZLINK_LIBRARY_DIR names."""

import ctypes
import os

PAIR, REP, DEALER, ROUTER, PULL, PUSH, XPUB, XSUB, STREAM = 0, 4, 5, 6, 7, 8, 9, 10, 11
RCVMORE, LINGER, SNDHWM, RCVHWM, RCVTIMEO, SNDTIMEO, LAST_ENDPOINT = 13, 17, 23, 24, 27, 28, 32
HEARTBEAT_IVL, HEARTBEAT_TIMEOUT = 75, 77
TLS_CERT, TLS_KEY, TLS_CA, TLS_REQUIRE_CLIENT_CERT, TLS_GROUPS = 0x5A00, 0x5A01, 0x5A02, 0x5A04, 0x5A08
PATIENCE = 20
SNDMORE = 2

zmq = ctypes.CDLL(os.path.join(os.environ["ZLINK_LIBRARY_DIR"], "libzmq.so.5"))
for name in ("zmq_ctx_new", "zmq_socket", "zmq_msg_data"):
    getattr(zmq, name).restype = ctypes.c_void_p
zmq.zmq_msg_gets.restype = ctypes.c_char_p
zmq.zmq_msg_size.restype = ctypes.c_size_t


class Socket:
    def __init__(self, context, kind):
        self.handle = ctypes.c_void_p(zmq.zmq_socket(context, kind))
        self.message = ctypes.create_string_buffer(64)
        self.set(LINGER, 0)
        self.set(RCVTIMEO, PATIENCE * 1000)
        self.set(SNDTIMEO, PATIENCE * 1000)

    def set(self, option, value):
        octets = value.to_bytes(4, "little", signed=True) if isinstance(value, int) else os.fsencode(value)
        assert zmq.zmq_setsockopt(self.handle, option, octets, len(octets)) == 0

    def bind(self, endpoint):
        """Where others connect to."""
        assert zmq.zmq_bind(self.handle, endpoint.encode()) == 0
        text, size = ctypes.create_string_buffer(256), ctypes.c_size_t(256)
        assert zmq.zmq_getsockopt(self.handle, LAST_ENDPOINT, text, ctypes.byref(size)) == 0
        return text.value.decode()

    def connect(self, endpoint):
        assert zmq.zmq_connect(self.handle, endpoint.encode()) == 0

    def close_lingering(self):
        """Everything goes out first."""
        self.set(LINGER, -1)
        assert zmq.zmq_close(self.handle) == 0
        self.handle = None

    def send(self, *frames):
        for i, body in enumerate(frames):
            assert zmq.zmq_send(self.handle, body, len(body), SNDMORE if i + 1 < len(frames) else 0) == len(body)

    def receive(self):
        """The body, and the User-Id."""
        zmq.zmq_msg_init(self.message)
        size = zmq.zmq_msg_recv(self.message, self.handle, 0)
        assert size >= 0, "nothing came"
        body = ctypes.string_at(zmq.zmq_msg_data(self.message), size)
        user = zmq.zmq_msg_gets(self.message, b"User-Id")
        zmq.zmq_msg_close(self.message)
        return body, user

    def receive_frames(self):
        """All frames of the next message."""
        frames, more = [], 1
        zmq.zmq_msg_init(self.message)
        while more:
            size = zmq.zmq_msg_recv(self.message, self.handle, 0)
            assert size >= 0, f"nothing came behind {len(frames)} frames"
            frames.append(ctypes.string_at(zmq.zmq_msg_data(self.message), size))
            more = zmq.zmq_msg_more(self.message)
        zmq.zmq_msg_close(self.message)
        return frames
