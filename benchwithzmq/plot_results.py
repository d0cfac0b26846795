#!/usr/bin/python3
"""Draws the results of run_matrix.py or run_comparison.py --acceptance as PNG and SVG.

  plot_results.py RESULTS.json [--output-dir DIR]     throughput and latency against size, one panel per pattern and
                                                      transport, and the headline; in RESULTS.json's own folder
  plot_results.py RESULTS.json --headline PATH        the headline only, as PATH.svg and PATH.png: the ratio of 64-octet
                                                      throughput to libzmq by pattern and transport

Pictures have a white ground of their own, so they read alike on light and on dark pages. Lines differ by colour, dash and
marker, bars by colour and hatch; the colours are those of Okabe and Ito, which the colour-blind can tell apart.
"""

import argparse
import collections
import os
import sys

import beside
import pairs
import runner
import tables

try:
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib import ticker
except ImportError:
    matplotlib = None

HEADLINE_SIZE = 64
MARGIN = 1.6  # around the values; wide enough that an axis with ticks at 1, 2 and 5 has one
LEAST_STEP = 4  # between sizes that are named on an axis
BLUE, ORANGE, GREEN, VERMILION, INK, FAINT = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#222222", "#D8D8D8"
LOOK = {
    "libzmq": {"color": ORANGE, "linestyle": "--", "marker": "s", "markerfacecolor": "white"},
    "zlink": {"color": BLUE, "linestyle": "-", "marker": "o"},
}
BARS = {"tcp": (BLUE, ""), "ipc": (ORANGE, "///"), "inproc": (GREEN, "\\\\\\")}
BESIDE_LOOK = {
    "zlink": LOOK["zlink"], "tcp": LOOK["libzmq"], "tls": LOOK["libzmq"],
    "raw": {"color": GREEN, "linestyle": ":", "marker": "^", "markerfacecolor": "white"},
    "nng": {"color": VERMILION, "linestyle": "-.", "marker": "D", "markerfacecolor": "white"},
}
UNIT = {"throughput": "messages per second", "latency": "microseconds one way"}
STYLE = {
    "figure.facecolor": "white", "axes.facecolor": "white", "savefig.facecolor": "white", "text.color": INK,
    "axes.edgecolor": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK, "font.size": 9,
    "axes.titlesize": 9, "axes.spines.top": False, "axes.spines.right": False, "hatch.linewidth": 0.6,
    "svg.hashsalt": "zlink",
}


def need_matplotlib():
    if matplotlib is None:
        raise runner.Failure("there is no matplotlib for %s: install python3-matplotlib (make deps does), "
                             "and use /usr/bin/python3" % sys.executable)


def usual_mark(found):
    """The high-water mark that most cells have; a picture shows one."""
    return collections.Counter(each["hwm"] for each in found).most_common(1)[0][0]


def save(figure, stem):
    """Writes stem.png and stem.svg; equal results make equal files."""
    os.makedirs(os.path.dirname(os.path.abspath(stem)), exist_ok=True)
    written = [stem + ".png", stem + ".svg"]
    figure.savefig(written[0], dpi=150, metadata={"Software": None})
    figure.savefig(written[1], metadata={"Date": None})
    plt.close(figure)
    return written


def caption(figure, results, mark):
    text = "%s, high-water mark %d" % (tables.machine_line(results["machine"]), mark)
    figure.text(0.5, 0.01, text.lstrip(", "), ha="center", va="bottom", fontsize=7.5, wrap=True)


def draw_panel(axes, cells):
    """Both libraries in one panel: medians as a line, the spread of the runs as a shade, lost cells ringed."""
    cells = sorted(cells, key=lambda each: each["size"])
    sizes = [each["size"] for each in cells]
    for index, library in enumerate(("libzmq", "zlink")):
        axes.plot(sizes, [each[library] for each in cells], label=library, markersize=4, linewidth=1.5, **LOOK[library])
        axes.fill_between(sizes, [min(run[index] for run in each["runs"]) for each in cells],
                          [max(run[index] for run in each["runs"]) for each in cells],
                          color=LOOK[library]["color"], alpha=0.15, linewidth=0)
    lost = [each for each in cells if pairs.is_lost(each)]
    axes.plot([each["size"] for each in lost], [each["zlink"] for each in lost], linestyle="none", marker="o",
              markersize=10, markerfacecolor="none", markeredgecolor=VERMILION, markeredgewidth=1.5,
              label="lost: ratio below %.2f" % runner.PARITY)


def draw_scales(axes, sizes, values, measure):
    """The axes of a panel, by the sizes and values of all panels."""
    least, greatest = min(values), max(values)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    named = spaced(sizes)
    axes.set_xticks(sizes, [tables.short_size(size) if size in named else "" for size in sizes])
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(scaled if measure == "throughput" else plain_number))
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1,) if greatest > 100 * least else (1, 2, 5)))
    axes.set_ylim(least / MARGIN, greatest * MARGIN)
    axes.grid(True, which="major", color=FAINT, linewidth=0.6)


def spaced(sizes):
    """The sizes whose names have room on the axis: the last one, and those before it that stand apart."""
    named = []
    for size in reversed(sizes):
        if not named or size * LEAST_STEP <= named[-1]:
            named.append(size)
    return named


def plain_number(value, _):
    return "%g" % value


def scaled(value, _):
    """10M, 100k: rates as axes have them."""
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return "%g%s" % (value / unit, letter)
    return "%g" % value


def in_pictures(cell):
    """One context, and bodies that are copied; the tables have the others."""
    return tables.head_of(cell)[4:] == (1, "copied")


def plot_panels(found, columns, column_of, draw, texts, stem):
    """A panel for each pattern and column; all share the axes, so that heights can be compared. `texts`: measure, title, values, results, mark."""
    measure, title, values, results, mark = texts
    patterns = tables.in_order(runner.PATTERNS, [each["pattern"] for each in found])
    sizes = sorted({each["size"] for each in found})
    width, height = 1.2 + 3.1 * len(columns), 1.6 + 1.9 * len(patterns)
    with plt.rc_context(STYLE):
        figure, grid = plt.subplots(len(patterns), len(columns), figsize=(max(width, 6), height), sharex=True,
                                    sharey=True, squeeze=False)
        for row, pattern in zip(grid, patterns):
            for axes, column in zip(row, columns):
                axes.set_title("%s, %s" % (pattern, column))
                cells = [each for each in found if (each["pattern"], column_of(each)) == (pattern, column)]
                if cells:
                    draw(axes, cells)
                draw_scales(axes, sizes, values, measure)
                axes.tick_params(labelbottom=True, labelleft=True)
        better = "higher" if measure == "throughput" else "lower"
        figure.suptitle("%s of %s (%s is better)" % (measure.capitalize(), title, better), y=1 - 0.15 / height)
        figure.supxlabel("message size, octets", y=0.33 / height, fontsize=9)
        figure.supylabel(UNIT[measure], x=0.15 / max(width, 6), fontsize=9)
        handles = {}
        for axes in grid.flat:
            for line, label in zip(*axes.get_legend_handles_labels()):
                handles.setdefault(label, line)
        figure.legend(handles.values(), handles.keys(), loc="upper center", bbox_to_anchor=(0.5, 1 - 0.33 / height),
                      ncol=len(handles), frameon=False)
        figure.tight_layout(rect=(0.25 / width, 0.45 / height, 1, 1 - 0.5 / height))
        caption(figure, results, mark)
        return save(figure, stem)


def plot_matrix(results, measure, stem):
    """Both libraries, by pattern and transport."""
    if not results["cells"]:
        return []
    mark = usual_mark(results["cells"])
    found = [each for each in results["cells"]
             if each["measure"] == measure and each["hwm"] == mark and in_pictures(each)]
    if not found:
        return []
    transports = tables.in_order(runner.TRANSPORTS, [each["transport"] for each in found])
    values = [value for each in found for run in each["runs"] for value in run]
    return plot_panels(found, transports, lambda each: each["transport"], draw_panel,
                       (measure, "zlink and libzmq", values, results, mark), stem)


def draw_beside(axes, cells):
    """All contestants in one panel."""
    cells = sorted(cells, key=lambda each: each["size"])
    transport = cells[0]["transport"]
    for name in [transport] + beside.OTHERS:
        with_name = [each for each in cells if name in each["median"]]
        if not with_name or (name == transport and axes.lines):
            continue
        label = "zlink" if name == transport else {"raw": "no library", "nng": "nng"}.get(name, "zlink over the one below")
        axes.plot([each["size"] for each in with_name], [each["median"][name] for each in with_name], label=label,
                  markersize=4, linewidth=1.5, **BESIDE_LOOK["zlink" if name == transport else name])


def plot_beside(results, measure, stem):
    """zlink over ws, wss, tls and tcp and what it is held against, by pattern, transport and, over ws and wss, who connects."""
    marks = [each for each in results.get("beside", []) if each["contexts"] == 1 and each["measure"] == measure]
    if not marks:
        return []
    mark = max(each["hwm"] for each in marks)
    found = [each for each in marks if each["hwm"] == mark]

    def column(each):
        return "%s, sender %s" % (each["transport"], each["sender"]) if each["transport"] in ("ws", "wss") else each["transport"]
    columns = sorted({column(each) for each in found}, key=lambda name: (list(beside.KINDS).index(name.split(",")[0]), name))
    values = [value for each in found for value in each["median"].values()]
    return plot_panels(found, columns, column, draw_beside,
                       (measure, "zlink and others", values, results, mark), stem)


def headline_cells(results):
    if not results["cells"]:
        return None, {}
    mark = usual_mark(results["cells"])
    return mark, {(each["pattern"], each["transport"]): each for each in results["cells"]
                  if (each["size"], each["measure"], each["hwm"]) == (HEADLINE_SIZE, "throughput", mark) and in_pictures(each)}


def plot_headline(results, stem):
    """Bars: how many times libzmq's throughput, by pattern and transport."""
    mark, found = headline_cells(results)
    if not found:
        return []
    patterns = tables.in_order(runner.PATTERNS, [pattern for pattern, _ in found])
    transports = tables.in_order(runner.TRANSPORTS, [transport for _, transport in found])
    width = 0.8 / len(transports)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(10, 4.6))
        for index, transport in enumerate(transports):
            colour, hatch = BARS.get(transport, (INK, "xx"))
            shown = [(place, found[pattern, transport]) for place, pattern in enumerate(patterns)
                     if (pattern, transport) in found]
            at = [place + (index - (len(transports) - 1) / 2) * width for place, _ in shown]
            ratios = [each["ratio"] for _, each in shown]
            axes.bar(at, ratios, width * 0.92, color=colour, hatch=hatch, edgecolor="white", linewidth=0, label=transport,
                     zorder=2)
            for x, (_, each) in zip(at, shown):
                lost = pairs.is_lost(each)
                axes.annotate("%.1f" % each["ratio"] if each["ratio"] >= 1 else "%.2f" % each["ratio"],
                              (x, each["ratio"]), (0, 2), textcoords="offset points", ha="center", fontsize=8,
                              color=VERMILION if lost else INK, fontweight="bold" if lost else "normal")
        axes.axhline(1, color=INK, linewidth=1.2, linestyle="--", zorder=4, label="libzmq")
        axes.set_xticks(range(len(patterns)), [pattern.replace("_", "\n") for pattern in patterns])
        axes.tick_params(axis="x", length=0)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("ratio of messages per second,\nzlink to libzmq")
        axes.set_xlabel("pattern")
        axes.grid(True, axis="y", color=FAINT, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_title("Throughput of %d-octet messages as a multiple of libzmq's" % HEADLINE_SIZE, fontsize=11, pad=24)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=len(transports) + 1, frameon=False)
        figure.tight_layout(rect=(0, 0.03, 1, 1))
        caption(figure, results, mark)
        return save(figure, stem)


def plot_all(results, folder):
    """Every picture the results allow; the paths written."""
    need_matplotlib()
    written = plot_headline(results, os.path.join(folder, "headline"))
    for measure in runner.MEASURES:
        written += plot_matrix(results, measure, os.path.join(folder, measure))
        written += plot_beside(results, measure, os.path.join(folder, "beside-" + measure))
    return written


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", metavar="RESULTS.json")
    parser.add_argument("--output-dir", help="where the pictures go (the folder of the results)")
    parser.add_argument("--headline", metavar="PATH", help="draw only the headline, as PATH.svg and PATH.png")
    args = parser.parse_args(argv)
    try:
        need_matplotlib()
        results = pairs.read(args.results)
        if args.headline:
            written = plot_headline(results, os.path.splitext(args.headline)[0]
                                    if args.headline.endswith((".svg", ".png")) else args.headline)
        else:
            written = plot_all(results, args.output_dir or os.path.dirname(os.path.abspath(args.results)))
        if not written:
            raise runner.Failure("%s: no throughput of %d octets" % (args.results, HEADLINE_SIZE))
    except runner.Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    print("\n".join(written))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
