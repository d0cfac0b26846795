"""Builds the site: README, docs/, the pages of the manual and llms.txt.

Usage: build.py ROOT FOLDER [PYTHON]    FOLDER/html is the site; PYTHON, else FOLDER/python, has MkDocs

The pages are laid out in FOLDER/pages as they are in the repository, so that links lead where they lead there. A page
of docs/ that no list below names stands under "More".
"""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "manual"))
from header import read_header  # noqa: E402
from pages import pages as manual_pages, summary  # noqa: E402
sys.path.insert(0, str(HERE.parents[1] / "cmake"))
from listings import LANGUAGES, LISTING, SPOKEN, in_language, languages_of, stems_of  # noqa: E402

GUIDE = "docs/guide"
RECIPES = "docs/guide/recipes/"
MANUAL = "docs/manual"
SECTIONS = {
    "Use": ["install", "command", "secure", "policy", "metrics", "steering", "reasons", "tuning", "debugging", "performance"],
    "Reference": ["differences-from-libzmq", "threads", "wire", "versioning", "glossary"],
    "Inside": ["architecture", "mechanisms"],
}
FOLDERS = {"Decisions": "docs/decisions", "Measurements": "docs/measurements"}
PROJECT = ["CONTRIBUTING.md", "docs/releasing.md", "docs/platforms.md", "docs/ecosystem.md", "docs/interop.md", "docs/debian.md",
           "SECURITY.md", "CHANGELOG.md"]
# What a search shows first, by the beginning of a page's path: the longest that fits counts.
WEIGHTS = {"": 1, GUIDE: 1.5, "docs/": 1.2, MANUAL: 1.2, "docs/decisions": 0.5, "docs/measurements": 0.5, "docs/mechanisms": 0.5,
           "CHANGELOG": 0.5, "CONTRIBUTING": 0.5, "docs/ecosystem": 0.5, "docs/debian": 0.5, "docs/interop": 0.5, "docs/releasing": 0.5}
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)#\s]+)((?:#[^)\s]*)?\))|^(\[[^\]]+\]: )(\S+)()$", re.M)


# ---- the pages ----


def lay_out(root, pages):
    shutil.rmtree(pages, ignore_errors=True)
    wanted = [*root.glob("*.md"), *(root / "docs").rglob("*"), *(root / "examples").rglob("*.md")]
    for path in wanted:
        there = pages / path.relative_to(root)
        parts = path.relative_to(root).parts
        if path.is_file() and parts[:2] not in (("docs", "manual"), ("docs", "site")):
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, there)


def bring_along(root, pages):
    """What pages link to beside pages, and a page for each folder that is linked to."""
    for page in sorted(pages.rglob("*.md")):
        text = page.read_text()
        place = root / page.relative_to(pages).parent

        def lead(found):
            head, target, tail = (found.group(1), found.group(2), found.group(3)) if found.group(1) else found.groups()[3:]
            source = (place / target).resolve()
            if re.match(r"[a-z]+:", target) or not source.exists():
                return found.group()
            copy = pages / source.relative_to(root)
            if source.is_dir():
                own = "README.md" if (source / "README.md").exists() else "index.md"
                if own == "index.md" and not (copy / own).exists():
                    list_folder(source, copy)
                return head + target.rstrip("/") + "/" + own + tail
            if not copy.exists():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, copy)
            return head + target + tail

        page.write_text(LINK.sub(lead, text))


def list_folder(source, copy):
    """A page that leads to all files of a folder."""
    copy.mkdir(parents=True, exist_ok=True)
    lines = ["# " + source.name.capitalize(), ""]
    for path in sorted(source.iterdir()):
        if path.is_file():
            name = title_of(path.read_text()) if path.suffix == ".md" else path.name
            number = re.match(r"\d+", path.name)
            lines.append("- [%s](%s)" % (number.group() + " " + name if number else name, path.name))
            if not (copy / path.name).exists():
                shutil.copy(path, copy / path.name)
    (copy / "index.md").write_text("\n".join(lines) + "\n")


def title_of(text):
    found = re.search(r"^# +(.+)$", text, re.M)
    return re.sub(r"[`*]", "", found.group(1)) if found else "?"


# ---- the manual ----


def lay_out_manual(root, pages, folder):
    """Returns the names of the pages with what they are about, by section of the header."""
    header = read_header(root / "include/zmq.h")
    place, by_section = pages / MANUAL, {}
    place.mkdir(parents=True)
    made = manual_pages(header)
    leads = {"zlink(7)": "zlink.7.md", "zlink_options(7)": "zlink_options.7.md"}
    for group in header.functions:
        for function in group.functions:
            leads["%s(3)" % function.name] = "%s.3.md" % group.name
        by_section.setdefault(group.section, []).append((group.name, summary(group.comment)))
    for name, text in made.items():
        if text.startswith(".so "):
            continue
        source = folder / "page"
        source.write_text(text)
        done = subprocess.run(["mandoc", "-Tmarkdown", source], check=True, capture_output=True, text=True)
        source.unlink()
        file = Path(name).name
        (place / (file + ".md")).write_text(page_of_manual(file, done.stdout, leads))
    lines = ["# Manual", "", "- [zlink(7)](zlink.7.md): all of it on a page", "- [Options](zlink_options.7.md)"]
    for section, functions in by_section.items():
        lines += ["", "## " + section, "", *("- [%s](%s.3.md): %s" % (name, name, about) for name, about in functions)]
    (place / "index.md").write_text("\n".join(lines) + "\n")
    return by_section


def page_of_manual(file, text, leads):
    name, section = file.rsplit(".", 1)
    body = text.split("\n", 1)[1]
    body = re.sub(r"\n\S* - [A-Z][a-z]+ \d+, \d+\s*$", "\n", body)
    # The title takes the place of NAME, and the headings are those of a page.
    body = re.sub(r"^(#+) (.+)$", lambda found: "#" + found.group(1) + " " + heading(found.group(2)), body, flags=re.M)
    body = re.sub(r"^## Name\n", "", body, flags=re.M)

    # What is told of an option is a list without gaps.
    body = re.sub(r"^(Of|Type|Access|Default|Acts|Since)\n\n((?:> .+\n)+)\n",
                  lambda found: "- *%s*: %s\n" % (found.group(1), " ".join(found.group(2).replace("> ", "").split())), body, flags=re.M)
    body = re.sub(r"^(- \*.*)\n(?=[^-\n])", "\\1\n\n", body, flags=re.M)

    def lead(found):
        plain = found.group().replace("\\", "").replace("*", "")
        return "[%s](%s)" % (plain, leads[plain]) if plain in leads else found.group()

    lines = body.split("\n")
    for number, line in enumerate(lines):
        if not line.startswith(("\t", "#")):
            lines[number] = re.sub(r"\*{0,2}\bz(?:mq|link)(?:\\?_\w+?)*\*{0,2}\([37]\)", lead, line)
    return "# %s(%s)\n%s" % (name, section, "\n".join(lines))


def heading(text):
    return text if "_" in text or not text.isupper() else text.capitalize()


# ---- a tab for each language ----


def tabs(fences, own):
    """The fences by suffix, of which the reader sees that of the page's own language first."""
    marks = {list(fences)[0]: "!"}  # a group of its own, where another stands right in front
    return "\n".join("===%s \"%s\"\n\n%s\n" % (marks.get(suffix, "") + ("+" if suffix == own else ""), SPOKEN[suffix],
                                               textwrap.indent(fence, "    ")) for suffix, fence in fences.items())


def with_tabs(page, root):
    """The text of a page of the guide as the site shows it: its listings and commands in each language."""
    text, stems = page.read_text(), stems_of(page, root)

    def listing(found):
        path = root / found[1]
        there = languages_of(path)
        if not found[4] or len(there) != len(SPOKEN):
            return found[0]
        return tabs({suffix: "```%s\n%s```" % (LANGUAGES[suffix], other.read_text()) for suffix, other in there.items()}, path.suffix)

    def commands(found):
        said = {suffix: next(texts) for suffix, texts in spoken.items()}
        if len(set(said.values())) == 1:
            return found[0]
        own = next((suffix for suffix in said if said[suffix] == found[1]), None)
        return tabs({suffix: "```sh\n%s```" % text for suffix, text in said.items()}, own)

    fences = COMMANDS.findall(text)
    spoken = {suffix: iter(in_language(fences, suffix, stems)) for suffix in SPOKEN}
    return COMMANDS.sub(commands, LISTING.sub(listing, text))


# ---- where is what ----


def in_order(pages, folder):
    """The pages of a folder, as its README or index leads to them, and the rest by name."""
    files = [path.relative_to(pages).as_posix() for path in sorted((pages / folder).rglob("*.md"))]
    first = [path for path in files if Path(path).parent.as_posix() == folder and Path(path).name in ("README.md", "index.md")]
    led = []
    for page in first:
        for found in LINK.finditer((pages / page).read_text()):
            target = os.path.normpath(folder + "/" + (found.group(2) or found.group(5)))
            led += [target] if target in files else []
    return list(dict.fromkeys(first + led + files))


def nav(pages, by_section):
    def known(names):
        return [name for name in names if (pages / name).exists()]

    def entries(names):
        """The titles are told here, as a page may have none where it is read."""
        return [{title_of((pages / name).read_text()): name} for name in names]

    result = [{"zlink": "README.md"}]
    if (pages / GUIDE).exists():
        led = in_order(pages, GUIDE)
        recipes = [name for name in led if name.startswith(RECIPES)]
        chapters = entries([name for name in led if name not in recipes])
        result.append({"Guide": chapters + ([{"Recipes": entries(recipes)}] if recipes else [])})
    named = {name: known("docs/%s.md" % each for each in pages_of) for name, pages_of in SECTIONS.items()}
    result.append({"Use": entries(named["Use"])})
    examples = [path.relative_to(pages).as_posix() for path in sorted((pages / "examples").rglob("*.md"))]
    result += [{"Examples": entries(examples)}] if examples else []
    manual = [{"Overview": MANUAL + "/index.md"}, {"zlink(7)": MANUAL + "/zlink.7.md"}, {"Options": MANUAL + "/zlink_options.7.md"}]
    manual += [{section: [{name: "%s/%s.3.md" % (MANUAL, name)} for name, _ in functions]} for section, functions in by_section.items()]
    result.append({"Manual": manual})
    result.append({"Reference": entries(named["Reference"])})
    inside = entries(named["Inside"])
    inside += [{title: entries(in_order(pages, folder))} for title, folder in FOLDERS.items() if (pages / folder).exists()]
    result.append({"Inside": inside})
    result.append({"Project": entries(known(PROJECT))})
    text = json.dumps(result)
    rest = [path.relative_to(pages).as_posix() for path in sorted(pages.rglob("*.md"))]
    rest = [name for name in rest if '"%s"' % name not in text]
    return result + ([{"More": entries(rest)}] if rest else [])


def weigh(pages):
    for page in pages.rglob("*.md"):
        name = page.relative_to(pages).as_posix()
        weight = WEIGHTS[max((each for each in WEIGHTS if name.startswith(each)), key=len)]
        page.write_text("---\nsearch:\n  boost: %s\n---\n\n%s" % (weight, page.read_text()))


def show_languages(pages, root):
    for page in (pages / GUIDE).rglob("*.md"):
        page.write_text(with_tabs(page, root))


# ---- for programs that read ----


def first_sentence(text):
    body = re.sub(r"^(```+).*?^\1$", "", text, flags=re.M | re.S)
    body = re.sub(r"^(?:#.*|!\[.*|<.*|- .*)$", "", body, flags=re.M).strip()
    paragraph = " ".join(body.split("\n\n")[0].split())
    paragraph = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", paragraph).replace("\\_", "_")
    # A page of the manual begins with its name.
    paragraph = re.sub(r"^\*\*.*?\*\* - ", "", paragraph)
    return re.split(r"(?<=[a-z0-9)`])[.:] ", paragraph)[0].rstrip(".:")


def llms_text(pages, tree):
    """As llmstxt.org has it: where each page is, and what it is about."""
    readme = (pages / "README.md").read_text()
    lines = ["# zlink", "", "> %s." % first_sentence(readme)]

    def add(entries):
        for entry in entries:
            for title, value in entry.items():
                if isinstance(value, list):
                    add(value)
                else:
                    about = first_sentence((pages / value).read_text())
                    lines.append("- [%s](%s)%s" % (title, value, about and ": %s." % about))

    for entry in tree:
        for title, value in entry.items():
            lines.extend(["", "## " + title, ""])
            add(value if isinstance(value, list) else [{title: value}])
    return "\n".join(lines) + "\n"


# ---- all of it ----


def main():
    root, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    pages, html = folder / "pages", folder / "html"
    folder.mkdir(parents=True, exist_ok=True)
    lay_out(root, pages)
    by_section = lay_out_manual(root, pages, folder)
    bring_along(root, pages)
    shutil.copy(HERE / "style.css", pages / "style.css")
    tree = nav(pages, by_section)
    settings = json.loads((HERE / "mkdocs.json").read_text())
    settings.update(docs_dir=str(pages), site_dir=str(html), nav=tree)
    (folder / "mkdocs.yml").write_text(json.dumps(settings, indent=1).replace('"@slugify@"', "!!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}"))
    for_programs = {page.relative_to(pages): page.read_text() for page in pages.rglob("*.md")}
    for_programs[Path("llms.txt")] = llms_text(pages, tree)
    show_languages(pages, root)
    weigh(pages)
    python = Path(sys.argv[3]).resolve() if sys.argv[3:] else folder / "python"
    environment = dict(os.environ, PYTHONPATH=str(python), NO_MKDOCS_2_WARNING="1")
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "--quiet", "-f", folder / "mkdocs.yml"],
                          env=environment, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    for name, text in for_programs.items():
        (html / name).write_text(text)
    abroad = [str(path) for path in html.rglob("*.html")
              if re.search(r"<(?:script|img|iframe)[^>]+src=\"?https?:|<link[^>]+rel=\"?(?:stylesheet|preload)[^>]+href=\"?https?:|@import", path.read_text())]
    if abroad:
        sys.exit("these load something from elsewhere: " + ", ".join(abroad))
    print(html / "index.html")


if __name__ == "__main__":
    main()
