"""ZMTP 3.1 as a peer of another make writes it."""


def greeting():
    return b"\xff" + bytes(8) + b"\x7f\x03\x01NULL" + bytes(48)


def ready(kind):
    body = b"\x05READY\x0bSocket-Type" + len(kind).to_bytes(4, "big") + kind
    return bytes([4, len(body)]) + body


def frame(body):
    return bytes([0, len(body)]) + body
