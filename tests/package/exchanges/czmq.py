#!/usr/bin/python3
# libczmq4: 1000 strings over PUSH and PULL, and an actor (zproxy)
import ctypes

czmq = ctypes.CDLL("libczmq.so.4")
for name in ("zsock_new_push", "zsock_new_pull", "zstr_recv", "zactor_new"):
    getattr(czmq, name).restype = ctypes.c_void_p
czmq.zsock_endpoint.restype = ctypes.c_char_p
pull = ctypes.c_void_p(czmq.zsock_new_pull(b"@tcp://127.0.0.1:*"))
push = ctypes.c_void_p(czmq.zsock_new_push(b">" + czmq.zsock_endpoint(pull)))
for number in range(1000):
    assert czmq.zstr_sendf(push, b"%d", number) == 0
for number in range(1000):
    text = ctypes.c_void_p(czmq.zstr_recv(pull))
    assert ctypes.string_at(text) == b"%d" % number
    czmq.zstr_free(ctypes.byref(text))
proxy = ctypes.c_void_p(czmq.zactor_new(ctypes.cast(czmq.zproxy, ctypes.c_void_p), None))
assert proxy
czmq.zactor_destroy(ctypes.byref(proxy))
czmq.zsock_destroy(ctypes.byref(push))
czmq.zsock_destroy(ctypes.byref(pull))
