#!/usr/bin/python3
"""Makes a picture of what a terminal shows, readable on light and on dark.

Usage: tmux capture-pane -e -p | terminal_picture.py TITLE > FILE.svg

Knows what `zlink top` uses of the terminal: reversed lines, and red ones.
"""

import html
import re
import sys

WIDTH, HEIGHT, MARGIN = 7.8, 17, 14  # of a character of 13 pixels, of a line, around them
STYLE = """
    .card { fill: #f7f8fa; stroke: #d0d5dd; }
    .head { fill: #495057; }
    text { font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 13px; fill: #212529; white-space: pre; }
    .reversed { fill: #ffffff; }
    .red { fill: #c92a2a; }
    @media (prefers-color-scheme: dark) {
      .card { fill: #1c1f24; stroke: #3a3f47; }
      .head { fill: #ced4da; }
      text { fill: #f1f3f5; }
      .reversed { fill: #1c1f24; }
      .red { fill: #ff8787; }
    }"""


def look_of(line, look):
    """The words of a line without its codes, its look, and that of the next one's beginning."""
    seen = [] if re.match(r"\x1b\[", line) else [look]
    for code in re.findall(r"\x1b\[([0-9;]*)m", line):
        for number in code.split(";"):
            look = {"7": "reversed", "31": "red", "": "", "0": "", "27": "", "39": ""}.get(number, look)
        seen.append(look)
    return re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip("\n"), next(filter(None, seen), ""), look


def picture(lines, title):
    rows, look = [], ""
    for line in lines:
        words, this, look = look_of(line, look)
        rows.append((words, this))
    while rows and not rows[-1][0].strip():
        rows.pop()
    columns = max(len(words) for words, _ in rows)
    width, height = round(columns * WIDTH + 2 * MARGIN), round(len(rows) * HEIGHT + 2 * MARGIN)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
    yield f"  <title>{html.escape(title)}</title>\n  <style>{STYLE}\n  </style>"
    yield f'  <rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="6"/>'
    for number, (words, this) in enumerate(rows):
        top = MARGIN + number * HEIGHT
        if this == "reversed":
            yield f'  <rect class="head" x="{MARGIN - 4}" y="{top}" width="{width - 2 * MARGIN + 8}" height="{HEIGHT}"/>'
        for word in re.finditer(r"\S+(?: \S+)*", words):  # each cell stands at its column, whatever the font
            place = f'x="{MARGIN + word.start() * WIDTH:.1f}" y="{top + 13}" textLength="{len(word[0]) * WIDTH:.1f}"'
            yield f'  <text{this and f" class={chr(34)}{this}{chr(34)}"} {place}>{html.escape(word[0])}</text>'
    yield "</svg>"


if __name__ == "__main__":
    print("\n".join(picture(sys.stdin.readlines(), sys.argv[1])))
