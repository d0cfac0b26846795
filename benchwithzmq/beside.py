"""Cells of the transports that the distribution's libzmq does not have: zlink over each, beside what it may be held against.

Beside zlink over the transport stand, as far as they are there, zlink over the one below it, that transport without a library (raw), and nng:
for tls raw is OpenSSL's own records of 16 KiB between two threads (raw_tls.cpp), a stream without messages, so that its rate is told in messages
of the size; nng (nng.cpp) has PAIR and PUSH_PULL. Rounds of runs alternate, and so does who goes first. A ratio is the median over the rounds
and above 1 where zlink over the transport is the better one. Counts grow until the fastest contestant needs the seconds asked for; nng has counts of its own.
Over ws and wss a client masks what it sends and a server does not, so throughput is measured with a sender that connects and with one that binds.
"""

import itertools
import os
import statistics

import pairs
import runner
import tables

# transport: the one below it, and the program that makes the same stream without a library. Over tcp there is nng alone.
KINDS = {"tcp": (None, None), "ws": ("tcp", None), "wss": ("tls", None), "tls": ("tcp", "bench_raw_tls")}
FIELDS = ("transport", "pattern", "size", "measure", "hwm", "contexts", "sender")
SENDERS = ["connects", "binds"]
OTHERS = ["tcp", "tls", "raw", "nng"]
NNG_PATTERNS = ("PAIR", "PUSH_PULL")
NNG_LARGEST = 1 << 20
NNG_FIRST = {"throughput": 2_000, "latency": 200}
NNG_FIRST_BYTES = 16 << 20
# The ratio that passes. What is not here is told and not judged.
ASKED = {
    ("ws", "tcp", "throughput"): 0.5, ("ws", "tcp", "latency"): 1 / 1.5,
    ("wss", "tls", "throughput"): 0.7,
    ("tls", "raw", "throughput"): 0.7, ("tls", "tcp", "latency"): 0.5,
    **{(transport, "nng", measure): runner.PARITY for transport in KINDS for measure in runner.MEASURES},
}


def usual_sender(pattern):
    """The end of bench_zmq that binds unless told otherwise is the publisher, or else the receiver."""
    return "binds" if pattern == "PUBSUB" else "connects"


def has_nng(args, transport, pattern, size):
    return transport in args.nng and pattern in NNG_PATTERNS and size <= NNG_LARGEST


def is_there(args, cell):
    """Whether a cell makes sense, and tells what no other one does."""
    transport, pattern, size, measure, _, _, sender = cell
    if size >= pairs.LARGE and pattern not in args.large_patterns:
        return False
    if transport == "tcp" and not has_nng(args, transport, pattern, size):
        return False
    # A ROUTER that addresses names its peer as it connects. A round trip goes in both directions.
    both = transport in ("ws", "wss") and measure == "throughput" and not pattern.startswith("ROUTER")
    return both or sender == usual_sender(pattern)


def cells(args):
    """The FIELDS of each cell asked for."""
    wanted = itertools.product(args.kinds, args.beside_patterns, args.sizes, args.measures, args.beside_hwm, args.contexts,
                               SENDERS)
    return [cell for cell in wanted if is_there(args, cell)]


class Cell:
    """One cell, and what was measured there."""

    def __init__(self, args, zlink, *where):
        self.args, self.zlink, self.where = args, zlink, where
        self.transport, self.pattern, self.size, self.measure, self.hwm, self.contexts, self.sender = where
        self.prefix = runner.pinned() if args.pinned else []
        below, raw = KINDS[self.transport]
        self.names = [self.transport] + ([below] if below else [])
        self.raw = runner.program(args.build_dir, raw) if raw else None
        if self.raw and os.access(self.raw, os.X_OK):
            self.names.append("raw")
        self.counts = dict.fromkeys(self.names, pairs.first_count(self.measure, self.size))
        if has_nng(args, self.transport, self.pattern, self.size):
            self.names.append("nng")
            self.counts["nng"] = max(pairs.FEWEST_OF_LARGE, min(NNG_FIRST[self.measure], NNG_FIRST_BYTES // self.size))

    def run(self, name):
        """One run of one contestant."""
        variables = {pairs.COUNT_VARIABLE[self.measure]: self.counts[name], "BENCH_HWM": self.hwm, "BENCH_IO_THREADS": 1,
                     "BENCH_WARMUP_COUNT": pairs.warmup_of(self.size)}
        more = {"prefix": self.prefix, "limit": self.args.limit}
        if name == "raw":
            return runner.run_alone(self.args.build_dir, [self.raw, str(self.size), self.measure], self.measure, **more, **variables)
        turned = ["--sender=" + self.sender]
        if name == "nng":
            variables["BENCH_WARMUP_COUNT"] = max(2, min(1000, self.counts[name] // 4))
            return runner.run_alone(self.args.build_dir, [runner.program(self.args.build_dir, "bench_nng"), self.pattern, self.transport,
                                                          str(self.size), self.measure] + turned, self.measure, **more, **variables)
        extra = turned + (["--contexts=2"] if self.contexts == 2 else [])
        values, _ = runner.run_cell(self.args.build_dir, self.zlink, self.pattern, name, self.size, self.measure, extra=extra,
                                    **more, **variables)
        return values[self.measure]

    def needed(self, name):
        return pairs.seconds_of(self.measure, self.run(name), self.counts[name])

    def calibrate(self):
        """Finds the counts; only the contestant that was fastest in the first trial is asked again."""
        given = os.environ.get(pairs.COUNT_VARIABLE[self.measure])
        if given:
            self.counts = dict.fromkeys(self.names, int(given))
            return
        alike = [name for name in self.names if name != "nng"]
        taken = {name: self.needed(name) for name in alike}
        fastest = min(taken, key=taken.get)
        count = self.counts[fastest]
        limit = min(pairs.MOST_MESSAGES, int(count * pairs.longest_run(self.args) / max(taken.values())))
        if self.measure == "throughput":
            limit = min(limit, pairs.MOST_BYTES // self.size)
        needed = taken[fastest]
        while count < limit and needed < pairs.CLOSE_ENOUGH * self.args.seconds:
            growth = min(pairs.GREATEST_GROWTH, self.args.seconds / needed)
            count = min(limit, int(count * growth) + 1)
            self.counts.update(dict.fromkeys(alike, count))
            needed = self.needed(fastest)
        if "nng" in self.names:
            growth = min(pairs.GREATEST_GROWTH, self.args.seconds / self.needed("nng"))
            self.counts["nng"] = max(pairs.FEWEST_OF_LARGE, int(self.counts["nng"] * growth))

    def measured(self):
        """All rounds: medians, and the ratio to each of the others."""
        self.calibrate()
        rounds = []
        for number in range(self.args.pairs):
            order = self.names if number % 2 == 0 else self.names[::-1]
            rounds.append({name: self.run(name) for name in order})
        found = dict(zip(FIELDS, self.where), counts=self.counts, rounds=rounds,
                     median={name: statistics.median(each[name] for each in rounds) for name in self.names})
        for other in self.names[1:]:
            ratios = [runner.ratio(self.measure, each[other], each[self.transport]) for each in rounds]
            found["to_" + other] = [statistics.median(ratios), min(ratios), max(ratios)]
        return found


def asked(found, other):
    """The ratio to `other` that passes, or None."""
    return ASKED.get((found["transport"], other, found["measure"]))


def is_missed(found, other):
    return "to_" + other in found and asked(found, other) is not None and found["to_" + other][0] < asked(found, other)


def lost(found):
    """(cell, other) of each ratio that misses what is asked, the worst first."""
    missed = [(each, other) for each in found for other in OTHERS if is_missed(each, other)]
    return sorted(missed, key=lambda pair: pair[0]["to_" + pair[1]][0] / asked(*pair))


def place(each):
    """Where a cell stands in tables."""
    known = runner.PATTERNS
    return (each["hwm"], known.index(each["pattern"]), list(KINDS).index(each["transport"]), SENDERS.index(each["sender"]),
            runner.MEASURES.index(each["measure"]), each["contexts"])


def grid(found):
    """One row for each cell without its size and what it is held against, one column for each size."""
    kept = {(place(each), other, each["size"]): each for each in found for other in OTHERS if "to_" + other in each}
    sizes = sorted({size for _, _, size in kept})
    layout = "%-18s %-9s %-8s %-10s %8s %5s %6s" + " %11s" * len(sizes)
    lines = [layout % ("pattern", "transport", "sender", "measure", "contexts", "mark", "beside",
                       *("%s     " % tables.short_size(size) for size in sizes))]
    for where, other in sorted({key[:2] for key in kept}, key=lambda key: (key[0], OTHERS.index(key[1]))):
        row = [kept.get((where, other, size)) for size in sizes]
        one = next(each for each in row if each)
        texts = ["-     " if each is None else "%.2f %-4s" % (each["to_" + other][0], "LOSS" if is_missed(each, other) else "")
                 for each in row]
        lines.append(layout % (one["pattern"], one["transport"], one["sender"], one["measure"], one["contexts"], one["hwm"],
                               other, *texts))
    return "\n".join(line.rstrip() for line in lines)


def closing(found):
    """What is said below the grid."""
    missed = lost(found)
    lines = ["%d cells beside others: %d ratios below what is asked" % (len(found), len(missed))]
    for each, other in missed:
        lines.append("  %s: to %s %.2f (%.2f to %.2f), asked %.2f" % (line_of(each), other, *each["to_" + other], asked(each, other)))
    return "\n".join(lines)


def line_of(found):
    """One cell on a line, with the values."""
    return "%-18s %-4s %-8s %8d %-10s contexts %d mark %-5d%s" % (
        found["pattern"], found["transport"], found["sender"], found["size"], found["measure"], found["contexts"], found["hwm"],
        "".join(" %s %s" % (name, shown(found["measure"], value)) for name, value in found["median"].items()))


def shown(measure, value):
    """A value with the digits that a few large messages a second need."""
    return "%s M/s" % tables.plain(value / 1e6) if measure == "throughput" else "%s us" % tables.plain(value)


def columns(found):
    """The cells of a row, as text. A ratio below what is asked stands in bold."""
    below = KINDS[found["transport"]][0]
    scale = 1e6 if found["measure"] == "throughput" else 1
    values = [tables.plain(found["median"][name] / scale) if name in found["median"] else ""
              for name in (found["transport"], below, "raw", "nng")]
    ratios = []
    for name in (below, "raw", "nng"):
        text = ("**%.2f** (%.2f to %.2f)" if name and is_missed(found, name) else "%.2f (%.2f to %.2f)")
        ratios.append(text % tuple(found["to_" + name]) if name and "to_" + name in found else "")
    return [found["pattern"], found["transport"], found["sender"], tables.short_size(found["size"]), str(found["hwm"]),
            str(found["contexts"]), *values, *ratios]


def markdown_of(found, measure):
    """The cells of one measure."""
    rows = sorted((each for each in found if each["measure"] == measure), key=lambda each: (place(each), each["size"]))
    return tables.markdown(["pattern", "transport", "sender", "octets", "mark", "contexts", "zlink", "the one below", "raw", "nng",
                            "to the one below", "to raw", "to nng"], list(map(columns, rows)))
