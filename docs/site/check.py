"""Builds the site and looks at it: every link leads somewhere, and a search finds what a reader looks for.

Usage: check.py ROOT FOLDER    FOLDER/html is the site

MkDocs is taken from ROOT/build/site/python, where `make docs` has put it, and else fetched from PyPI into FOLDER/python.
Status 77 where neither can be had.
"""

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

HERE = Path(__file__).resolve().parent
SOUGHT = ("slow joiner", "high-water mark", "CURVE", "EAGAIN", "GAP", "ZLINK_METRICS")
SKIPPED = 77
ABROAD = re.compile(r"[a-z][a-z0-9+.-]*:|//")


class Page(HTMLParser):
    """The links of a page, and what can be linked to in it."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.tabs = [], set(), 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors.update(value for name in ("id", "name") if (value := attributes.get(name)))
        self.links += [value for name in ("href", "src") if (value := attributes.get(name))]
        self.tabs += "tabbed-set" in (attributes.get("class") or "").split()


class Pages(dict):
    def __missing__(self, path):
        self[path] = Page(path)
        return self[path]


def python_of(root, folder):
    """A folder that has MkDocs, or None."""
    wanted = (HERE / "requirements.txt").read_text()
    own = folder / "python"
    for place in (root / "build/site/python", own):
        if (place / "installed").is_file() and (place / "installed").read_text() == wanted:
            return place
    shutil.rmtree(own, ignore_errors=True)
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--root-user-action=ignore", "--require-hashes",
                           "--retries", "1", "--timeout", "10", "--target", own, "-r", HERE / "requirements.txt"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr[-500:])
        return None
    (own / "installed").write_text(wanted)
    return own


def links_of(html):
    known = Pages()
    for path in sorted(html.rglob("*.html")):
        if path.name == "404.html":
            continue  # it is shown in the place of any page, and its links begin at the root
        for link in known[path].links:
            target, _, anchor = link.partition("#")
            if ABROAD.match(link):
                continue
            there = (path.parent / unquote(target)).resolve() if target else path
            if not there.exists():
                yield "%s: there is no %s" % (path.relative_to(html), link)
            elif anchor and there.suffix == ".html" and unquote(anchor) not in known[there].anchors:
                yield "%s: there is no heading for %s" % (path.relative_to(html), link)


def tabs_of(root, html):
    for page in sorted((root / "docs/guide").rglob("*.md")):
        path = html / page.relative_to(root).with_suffix(".html")
        if "\nThe same in " in page.read_text(encoding="utf-8") and not Page(path).tabs:
            yield "%s has no tab for another language" % path.relative_to(html)


def search_of(html):
    index = json.loads((html / "search/search_index.json").read_text(encoding="utf-8"))
    text = [(entry["title"] + " " + re.sub(r"<[^>]*>", "", entry["text"])).lower() for entry in index["docs"]]
    for words in SOUGHT:
        if not any(words.lower() in entry for entry in text):
            yield "a search does not find '%s'" % words


def llms_of(html):
    page = html / "llms.txt"
    if not page.is_file():
        yield "there is no llms.txt"
        return
    links = re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    for link in links:
        if not (html / link).is_file():
            yield "llms.txt: there is no %s" % link
    if not links:
        yield "llms.txt leads nowhere"


def main():
    root, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if not shutil.which("mandoc"):
        print("mandoc is not there: nobody builds the site")
        return SKIPPED
    python = python_of(root, folder)
    if not python:
        print("MkDocs is neither here nor at PyPI: nobody builds the site")
        return SKIPPED
    if subprocess.run([sys.executable, HERE / "build.py", root, folder, python], check=False).returncode != 0:
        return 1
    html = folder / "html"
    found = [*links_of(html), *tabs_of(root, html), *search_of(html), *llms_of(html)]
    print("\n".join(found) or "no faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
