"""Tables of measured cells: a grid of ratios for the terminal, and rows for docs/measurements."""

import itertools

import pairs
import runner

KIBI = 1024


def short_size(octets):
    """64, 1K, 256K, 4M: octets as the heads of tables and axes have them."""
    if octets >= KIBI * KIBI and octets % (KIBI * KIBI) == 0:
        return "%dM" % (octets // (KIBI * KIBI))
    return "%dK" % (octets // KIBI) if octets >= KIBI and octets % KIBI == 0 else "%d" % octets


def in_order(known, names):
    """The names that occur, in the order of the matrix; others behind."""
    names = set(names)
    return [name for name in known if name in names] + sorted(names - set(known))


def head_of(cell):
    """What the row of a cell has in front. Results of before there was a choice have one context, and copied bodies."""
    return (cell["hwm"], cell["pattern"], cell["transport"], cell["measure"], cell.get("contexts", 1),
            cell.get("bodies", "copied"))


def rows(found):
    """The rows of the grid in order, and {(row, size): cell}."""
    kept = {(head_of(each), each["size"]): each for each in found}
    marks, patterns, transports, measures, contexts, bodies = ([row[i] for row, _ in kept] for i in range(6))
    heads = itertools.product(sorted(set(marks)), in_order(runner.PATTERNS, patterns),
                              in_order(runner.TRANSPORTS, transports), in_order(runner.MEASURES, measures),
                              sorted(set(contexts)), in_order(runner.BODIES, bodies))
    with_cells = {row for row, _ in kept}
    return [head for head in heads if head in with_cells], kept


def contexts_of(head):
    """1 or 2, and the way of bodies where it is not the usual one."""
    contexts, bodies = head[4:]
    return str(contexts) if bodies == "copied" else "%d,%s" % (contexts, bodies)


def grid(found):
    """One row for each mark, pattern, transport, measure and number of contexts, one column for each size."""
    heads, kept = rows(found)
    sizes = sorted({size for _, size in kept})
    layout = "%-18s %-9s %-10s %8s %5s" + " %11s" * len(sizes)
    lines = [layout % ("pattern", "transport", "measure", "contexts", "mark",
                       *("%s     " % short_size(size) for size in sizes))]
    for head in heads:
        hwm, pattern, transport, measure = head[:4]
        cells = [kept.get((head, size)) for size in sizes]
        lines.append(layout % (pattern, transport, measure, contexts_of(head), hwm, *map(ratio_text, cells)))
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
    return "%-18s %-6s %8d %-10s contexts %-2s libzmq %s zlink %s ratio %6.2f (%.2f to %.2f)%s" % (
        found["pattern"], found["transport"], found["size"], found["measure"], contexts_of(head_of(found)),
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
    """The cells of one measure as docs/measurements has them. A lost ratio stands in bold."""
    scale = 1e6 if measure == "throughput" else 1
    heads, kept = rows([each for each in found if each["measure"] == measure])
    lines = []
    for head in heads:
        for size in sorted(size for row, size in kept if row == head):
            each = kept[head, size]
            ratio = "**%.2f**" % each["ratio"] if pairs.is_lost(each) else "%.2f" % each["ratio"]
            lines.append([each["pattern"], each["transport"], str(size), str(each["hwm"]), contexts_of(head),
                          plain(each["libzmq"] / scale), plain(each["zlink"] / scale),
                          "%s (%.2f to %.2f)" % (ratio, each["ratio_min"], each["ratio_max"])])
    return markdown(["pattern", "transport", "octets", "mark", "contexts", "libzmq", "zlink", "ratio"], lines)


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
