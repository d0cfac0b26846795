"""zlink dump reads captures that are damaged, and streams that are no ZMTP: it ends in order, and each line is one of its own.

The seeds are fixed. ZLINK_TESTS_WHOLE has it take many more of them. ZLINK_COMMAND may be a program that is built with a sanitizer.
"""

import json
import os
import random
import re
import struct
import subprocess

import pytest
from conftest import COMMAND, LIMIT
from dump_test import GREETING, READY

WHOLE = bool(os.environ.get("ZLINK_TESTS_WHOLE"))
SEEDS = range(2000 if WHOLE else 60)
LINE = re.compile(r"-?\d+\.\d{6} #\d+ (  |> |< )(greeting|command |message |octets  |\[?[\d.:a-f]+\]?:\d+ to )")
OLD = b"\1\0" + b"\1\1" + b"\6\0hello"
NEWER = b"\xff" + bytes(7) + b"\1\x7f\1\3" + b"\0\0" + b"\1\0" + b"\0\5hello"
PLAIN = GREETING.replace(b"NULL\0", b"PLAIN") + b"\4\x0f\5HELLO\3abc\4defg"
FRAMES = [READY, b"\0\5hello", b"\1\0", b"\2" + struct.pack(">Q", 300) + b"x" * 300, b"\4\7\4PING\0\1", b"\4\3\5ERR", b"\6" + b"\xff" * 8, b"\x88"]
LINKS = {0: b"\2\0\0\0", 1: bytes(12), 12: b"", 101: b"", 113: bytes(16), 276: bytes(20)}


def stream(dice):
    """What one side says, mostly in order."""
    octets = dice.choice([GREETING, GREETING, PLAIN, OLD, NEWER]) + b"".join(dice.choices(FRAMES, k=dice.randrange(6)))
    for _ in range(dice.choice([0, 0, 1, 3])):
        at = dice.randrange(len(octets))
        octets = dice.choice([octets[:at], octets[:at] + dice.randbytes(3) + octets[at + 1:], octets[at:] + octets[:at]]) or b"\xff"
    return octets


def packet(dice, link, ports, sequence, octets, flags):
    tcp = struct.pack(">HHIIBBHHH", *ports, sequence & 0xFFFFFFFF, 0, 0x50, flags, 1000, 0, 0) + octets
    is_six = dice.random() < 0.3
    if is_six:
        more = dice.choice([b""] * 20 + [struct.pack(">BBHI", 6, 0, dice.choice([0, 1, 8, 0xFFF9]), 7), b"\6\0" + bytes(6), b"\x2b\xff" + bytes(6)])
        ip = struct.pack(">IHBB", 6 << 28, len(more) + len(tcp), dice.choice([44, 0, 43, 60]) if more else 6, 64) + bytes(32) + more + tcp
    else:
        fragment = dice.choice([0] * 30 + [0x2000, 0x2001, 3])
        ip = struct.pack(">BBHHHBBH4s4s", dice.choice([0x45] * 30 + [0x4F, 0x40]), 0, 20 + len(tcp), 1, fragment, 64, 6, 0, b"\x7f\0\0\1", b"\x7f\0\0\1") + tcp
    head = LINKS[link] + ((b"\x86\xdd" if is_six else b"\x08\0") if link == 1 else b"")
    if link == 1 and dice.random() < 0.1:
        head = bytes(12) + b"\x81\0\0\1" * dice.randrange(4)
    return head + ip


def capture(dice):
    link = dice.choice(list(LINKS))
    order, magic = dice.choice("<>"), dice.choice([0xA1B2C3D4, 0xA1B23C4D])
    packets = []
    for number in range(dice.randrange(1, 30)):
        for ports in ((40000 + number, 5555), (5555, 40000 + number)):
            octets, sequence = stream(dice), dice.randrange(1 << 32)
            packets.append(packet(dice, link, ports, sequence, b"", 2 if ports[1] == 5555 else 0x12))
            at = 0
            while at < len(octets):
                size = dice.randrange(1, 200)
                packets.append(packet(dice, link, ports, sequence + 1 + at, octets[at:at + size], dice.choice([0x10, 0x10, 0x10, 0x11])))
                at += size if dice.random() < 0.9 else dice.randrange(2 * size)
    for _ in range(dice.choice([0, 3, 30])):
        a, b = dice.randrange(len(packets)), dice.randrange(len(packets))
        packets[a], packets[b] = packets[b], packets[a]
    octets = struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, 65535, dice.choice([link] * 9 + [dice.randrange(1 << 32)]))
    for each in packets:
        kept = each if dice.random() < 0.9 else each[:dice.randrange(len(each) + 1)]
        octets += struct.pack(order + "IIII", dice.randrange(1 << 32), dice.randrange(1 << 32), len(kept), len(each)) + kept
    return octets


def damaged(dice, octets):
    octets = bytearray(octets)
    for _ in range(dice.choice([0, 0, 1, 10, 100])):
        octets[dice.randrange(len(octets))] = dice.choice([0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)])
    for _ in range(dice.choice([0, 0, 0, 1])):  # the length of a packet, or the kind of link
        at = dice.choice([20, 32, 36])
        octets[at:at + 4] = struct.pack("<I", dice.choice([0, 0xFFFFFFFF, 1 << 20, (1 << 20) + 1]))
    return bytes(octets[:dice.randrange(len(octets))] if dice.random() < 0.2 else octets)


@pytest.mark.parametrize("seed", SEEDS)
def test_it_ends_in_order_whatever_it_reads(seed, tmp_path):
    dice = random.Random(seed)
    path = tmp_path / "x.pcap"
    path.write_bytes(damaged(dice, capture(dice)))
    form = dice.choice(["quoted", "hex", "json"])
    done = subprocess.run([COMMAND, "dump", path, "-f", form], capture_output=True, timeout=LIMIT, check=False)
    assert done.returncode in (0, 6), done.stderr.decode()
    lines = done.stdout.decode().split("\n")
    assert lines.pop() == ""
    for line in lines:
        assert json.loads(line) if form == "json" else LINE.match(line), line


def test_some_of_these_captures_tell_something(tmp_path):
    whole = 0
    for seed in range(20):
        path = tmp_path / "x.pcap"
        path.write_bytes(capture(random.Random(seed)))
        whole += subprocess.run([COMMAND, "dump", path], capture_output=True, timeout=LIMIT, check=False).stdout.count(b"greeting ZMTP")
    assert whole > 100
