"""Tables of measured cells: a grid of ratios for the terminal, and rows for docs/performance.md."""

import pairs
import runner

KIBI = 1024


def short_size(octets):
    """64, 1K, 256K: octets as the heads of tables and axes have them."""
    return "%dK" % (octets // KIBI) if octets >= KIBI and octets % KIBI == 0 else "%d" % octets


def in_order(known, names):
    """The names that occur, in the order of the matrix; others behind."""
    names = set(names)
    return [name for name in known if name in names] + sorted(names - set(known))


def rows(found):
    """The rows of the grid in order, and {(row, size): cell}."""
    kept = {((each["hwm"], each["pattern"], each["transport"], each["measure"]), each["size"]): each for each in found}
    marks, patterns, transports, measures = ([row[i] for row, _ in kept] for i in range(4))
    heads = [(hwm, pattern, transport, measure)
             for hwm in sorted(set(marks))
             for pattern in in_order(runner.PATTERNS, patterns)
             for transport in in_order(runner.TRANSPORTS, transports)
             for measure in in_order(runner.MEASURES, measures)]
    with_cells = {row for row, _ in kept}
    return [head for head in heads if head in with_cells], kept


def grid(found):
    """One row for each mark, pattern, transport and measure, one column for each size."""
    heads, kept = rows(found)
    sizes = sorted({size for _, size in kept})
    layout = "%-18s %-9s %-10s %5s" + " %11s" * len(sizes)
    lines = [layout % ("pattern", "transport", "measure", "mark", *("%s     " % short_size(size) for size in sizes))]
    for head in heads:
        hwm, pattern, transport, measure = head
        cells = [kept.get((head, size)) for size in sizes]
        lines.append(layout % (pattern, transport, measure, hwm, *map(ratio_text, cells)))
    return "\n".join(line.rstrip() for line in lines)


def ratio_text(cell):
    if cell is None:
        return "-     "
    return "%.2f %-4s" % (cell["ratio"], "LOSS" if pairs.is_lost(cell) else "")


def closing(found, failures):
    """What is said below the grid: how many cells, and which are lost or have no result."""
    lost = [each for each in found if pairs.is_lost(each)]
    lines = ["%d cells: %d lost (below %.2f), %d without a result" % (
        len(found) + len(failures), len(lost), runner.PARITY, len(failures))]
    lines += ["  " + line_of(each) for each in sorted(lost, key=lambda each: each["ratio"])]
    lines += ["  FAILED " + failure for failure in failures]
    return "\n".join(lines)


def line_of(found):
    """One cell on a line, with the values."""
    return "%-18s %-6s %7d %-10s libzmq %s zlink %s ratio %6.2f (%.2f to %.2f)%s" % (
        found["pattern"], found["transport"], found["size"], found["measure"],
        runner.shown(found["measure"], found["libzmq"]), runner.shown(found["measure"], found["zlink"]),
        found["ratio"], found["ratio_min"], found["ratio_max"], " LOSS" if pairs.is_lost(found) else "")


def markdown(head, lines):
    """A table in Markdown of cells that are text already."""
    return "\n".join("| %s |" % " | ".join(line) for line in [head, ["---"] * len(head), *lines])


def plain(value):
    """Three digits, never with an exponent: 20.8, 0.0107, 1230."""
    text = "%.3g" % value
    return "%.0f" % value if "e+" in text else text if "e" not in text else "%.6f" % value


def markdown_of(found, measure):
    """The cells of one measure as docs/performance.md has them. A lost ratio stands in bold."""
    scale = 1e6 if measure == "throughput" else 1
    heads, kept = rows([each for each in found if each["measure"] == measure])
    lines = []
    for head in heads:
        for size in sorted(size for row, size in kept if row == head):
            each = kept[head, size]
            ratio = "**%.2f**" % each["ratio"] if pairs.is_lost(each) else "%.2f" % each["ratio"]
            lines.append([each["pattern"], each["transport"], str(size), str(each["hwm"]),
                          plain(each["libzmq"] / scale), plain(each["zlink"] / scale),
                          "%s (%.2f to %.2f)" % (ratio, each["ratio_min"], each["ratio_max"])])
    return markdown(["pattern", "transport", "octets", "mark", "libzmq", "zlink", "ratio"], lines)


def machine_line(machine):
    """When and where, as captions have it; what is not known is left out."""
    words = [machine.get("date"), machine.get("processor"),
             "%d processors" % machine["processors"] if machine.get("processors") else None,
             "Linux " + machine["kernel"].split("-")[0] if machine.get("kernel") else None,
             "libzmq " + machine["libzmq"] if machine.get("libzmq") else None,
             "zlink " + machine["commit"] if machine.get("commit") else None,
             "medians of %d pairs of runs" % machine["pairs"] if machine.get("pairs", 1) > 1 else None,
             "pinned to one processor" if machine.get("pinned") else None]
    return ", ".join(word for word in words if word)
