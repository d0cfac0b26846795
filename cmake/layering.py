"""Checks that every file knows only what its layer may know.

Usage: layering.py ROOT          exit status 1 and one line per fault
       layering.py --self-test   plants each kind of fault and looks whether it is found

Rules:  who includes whom (the table below); no cycle of modules, a module being header and source of one stem;
        getenv, errno, Boost.Asio, platform switches only in the files that own them; yields nowhere; tests, tools and
        benchmarks that use the library from outside include nothing of src/.
"""

import re
import sys

import planted

# A layer may include itself and these. "transport*": only headers that do not lead to Asio.
MAY_INCLUDE = {
    "memory": "",
    "core": "memory",
    "pipe": "memory core",
    "zmtp": "memory core",
    "reactor": "memory core",
    "transport": "memory core reactor",
    "session": "memory core pipe zmtp transport* reactor*",
    "socket": "memory core pipe",
    "policy": "memory core transport*",
    "context": "memory core pipe zmtp reactor transport session socket policy",
    "metrics": "memory core socket context",
    "capi": "memory core socket context metrics",
}
MAY_INCLUDE = {layer: set(names.split()) | {layer} for layer, names in MAY_INCLUDE.items()}
ASIO_LAYERS = {"reactor", "transport"}
ZMQ_H_LAYERS = {"core", "socket", "capi"}
TESTS_OF_TRANSPORTS = "tests/contract/transport_"  # a contract of src/, unlike the others
# Of src/ they may include what stands by itself and is compiled for them once more (tools/command/CMakeLists.txt).
LENT = {"tools/command/stats_exporter.cpp": {"metrics/address.hpp", "metrics/listener.hpp", "metrics/server.hpp"}}
IS_LENT = re.compile(r"metrics/(address|file_identity|http_request|listener|server)\.[ch]pp|core/(names|owned_descriptor)\.hpp")
OUTSIDE = ["tests/capi", "tests/contract", "tests/interop", "tests/guard", "tests/abi", "tests/header", "benchwithzmq", "tools", "demo"]

# A pattern, where it may stand, what to say.
OWNED_FACTS = [
    (r"\bgetenv\b|\bsecure_getenv\b", r"core/tuning\.cpp", "the environment is read in core/tuning.cpp"),
    (r"\berrno\s*=(?!=)", r"capi/boundary\.hpp", "errno is written in capi/boundary.hpp"),
    (r"boost/asio|\bboost::asio\b", rf"({'|'.join(sorted(ASIO_LAYERS))})/.*", "Boost.Asio stays in " + ", ".join(sorted(ASIO_LAYERS))),
    (r"toml\+\+|\btoml::", r"policy/(toml_values\.hpp|policy_file\.cpp|users_file\.cpp)",
     "toml++ stays in policy/toml_values.hpp, and what includes that"),
    (r"boost/beast|\bboost::beast\b", r"zmtp/http_upgrade\.cpp", "Boost.Beast stays in zmtp/http_upgrade.cpp"),
    (r"\b_WIN32\b", r"core/platform_.*", "platform switches stand in core/platform_*"),
    (r"\b(sched_|this_thread::)yield\b", r"(?!)",
     "who waits for another thread sleeps, or leaves it a mark: a yield gives the processor to strangers for milliseconds, "
     "and one of a higher priority would yield for ever"),
]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
# Comments go, strings stay whole: a // inside a string starts no comment.
COMMENT_OR_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)


def without_comments(text):
    def keep(match):
        token = match.group()
        return token if token.startswith('"') else "\n" * token.count("\n")

    return COMMENT_OR_STRING.sub(keep, text)


def sources(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in (".cpp", ".hpp", ".h", ".c"))


class tree:
    """The files of src/ without their comments, and what each includes."""

    def __init__(self, root):
        self.root = root
        self.src = root / "src"
        self.text = {path.relative_to(self.src).as_posix(): without_comments(path.read_text(encoding="utf-8"))
                     for path in sources(self.src)}
        self.included = {name: self.resolved(self.src / name, text) for name, text in self.text.items()}

    def resolved(self, path, text):
        """(name in src/ or None, name as written, quoted?) for each include of a file."""
        found = []
        for quote, name in INCLUDE.findall(text):
            ours = None
            for candidate in (self.src / name, path.parent / name):
                resolved = candidate.resolve()
                if resolved.is_file() and self.src.resolve() in resolved.parents:
                    ours = resolved.relative_to(self.src.resolve()).as_posix()
                    break
            found.append((ours, name, quote == '"'))
        return found

    def leads_to_asio(self, name, seen=None):
        seen = set() if seen is None else seen
        if name in seen or name not in self.included:
            return False
        seen.add(name)
        return any(written.startswith("boost/asio") or (ours and self.leads_to_asio(ours, seen))
                   for ours, written, _ in self.included[name])


def layer_of(name):
    return name.split("/")[0] if "/" in name else ""


def include_faults(code):
    for name, includes in code.included.items():
        layer = layer_of(name)
        if layer not in MAY_INCLUDE:
            yield f"src/{name}: there is no layer {layer or 'at the top of src/'}"
            continue
        for ours, written, quoted in includes:
            if written in ("zmq.h", "zmq_utils.h"):
                if layer not in ZMQ_H_LAYERS:
                    yield f"src/{name}: {layer} may not include {written}"
            elif ours is None:
                if quoted and not (code.root / "include" / written).is_file():
                    yield f"src/{name}: {written} is not found"
            elif layer_of(ours) + "*" in MAY_INCLUDE[layer]:
                if code.leads_to_asio(ours):
                    yield f"src/{name}: {layer} may include only contracts of {layer_of(ours)}; {ours} leads to Asio"
            elif layer_of(ours) not in MAY_INCLUDE[layer]:
                yield f"src/{name}: {layer} may not include {ours}"


def fact_faults(code):
    for name, text in code.text.items():
        for number, line in enumerate(text.splitlines(), 1):
            for pattern, home, message in OWNED_FACTS:
                if re.search(pattern, line) and not re.fullmatch(home, name):
                    yield f"src/{name}:{number}: {message}"


def largest_cycle(code):
    """The largest set of modules that all reach one another."""
    edges = {}
    for name, includes in code.included.items():
        module = name.rsplit(".", 1)[0]
        edges.setdefault(module, set()).update(ours.rsplit(".", 1)[0] for ours, _, _ in includes if ours)
    reach = {}
    for start in edges:
        reach[start], todo = set(), [start]
        while todo:
            for nxt in edges.get(todo.pop(), ()):
                if nxt not in reach[start]:
                    reach[start].add(nxt)
                    todo.append(nxt)
    cycles = [{a} | {b for b in reach[a] if a in reach.get(b, ())} for a in edges]
    return max(cycles, key=len, default=set())


def cycle_faults(code):
    cycle = largest_cycle(code)
    if len(cycle) > 1:
        yield "these modules include one another: " + ", ".join(sorted(cycle))


def below(layer):
    """A layer and all those under it."""
    layers = {layer}
    for name in MAY_INCLUDE.get(layer, ()):
        other = name.rstrip("*")
        if other != layer:
            layers |= below(other)
    return layers


def outside_faults(code):
    for folder in OUTSIDE:
        for path in sources(code.root / folder):
            if path.relative_to(code.root).as_posix().startswith(TESTS_OF_TRANSPORTS):
                continue
            for ours, written, _ in code.resolved(path, without_comments(path.read_text(encoding="utf-8"))):
                if ours and ours not in LENT.get(path.relative_to(code.root).as_posix(), ()):
                    yield f"{path.relative_to(code.root)}: may include include/ only, not {written}"
    for path in sources(code.root / "tests/unit"):
        layer = path.relative_to(code.root / "tests/unit").parts[0]
        for ours, written, _ in code.resolved(path, without_comments(path.read_text(encoding="utf-8"))):
            if ours and layer_of(ours) not in below(layer):
                yield f"{path.relative_to(code.root)}: a unit test of {layer} may not include {written}"


def lent_faults(code):
    """What is lent needs nothing of the library but what is lent."""
    for name, includes in code.included.items():
        for ours, written, _ in includes if IS_LENT.fullmatch(name) else ():
            if ours and not IS_LENT.fullmatch(ours):
                yield f"src/{name}: is compiled for the command, too, which has no {written}"


def faults(root):
    code = tree(root)
    return [*include_faults(code), *fact_faults(code), *cycle_faults(code), *outside_faults(code), *lent_faults(code)]


# A small tree without faults, and one planted fault each: what the report must say -> files to add.
CLEAN = {
    "include/zmq.h": "",
    "src/core/error.hpp": '#include "zmq.h"\n#include <string>\n// boost/asio and getenv in a comment\n',
    "src/core/tuning.cpp": 'const char *e = std::getenv("TMPDIR");\n',
    "src/pipe/pipe.hpp": '#include "core/error.hpp"\nconst int saved_errno = errno; bool b = errno == 3;\n',
    "src/pipe/pipe.cpp": '#include "pipe/pipe.hpp"\n',
    "src/reactor/io_threads.hpp": "#include <boost/asio/io_context.hpp>\n",
    "src/transport/transport.hpp": '#include "core/error.hpp"\n',
    "src/session/session.cpp": '#include "pipe/pipe.hpp"\n#include "transport/transport.hpp"\n',
    "src/capi/boundary.hpp": "errno = 4;\n",
    "tests/capi/one_test.cpp": "#include <zmq.h>\n",
    "tests/contract/transport_contract.cpp": '#include "transport/transport.hpp"\n',
    "tests/unit/pipe/pipe_test.cpp": '#include "pipe/pipe.hpp"\n',
}
PLANTED = {
    "pipe may not include zmtp": {"src/pipe/a.cpp": '#include "zmtp/z.hpp"\n', "src/zmtp/z.hpp": ""},
    "socket may not include session": {"src/socket/s.cpp": '#include "session/s.hpp"\n', "src/session/s.hpp": ""},
    "memory may not include core": {"src/memory/m.hpp": '#include "core/error.hpp"\n'},
    "zmtp may not include zmq.h": {"src/zmtp/z.hpp": "#include <zmq.h>\n"},
    "io_threads.hpp leads to Asio": {"src/session/s.cpp": '#include "reactor/io_threads.hpp"\n'},
    "there is no layer engine": {"src/engine/e.cpp": ""},
    "gone.hpp is not found": {"src/core/a.cpp": '#include "core/gone.hpp"\n'},
    "include one another: core/a, core/b": {"src/core/a.hpp": '#include "b.hpp"\n', "src/core/b.hpp": '#include "core/a.hpp"\n'},
    "environment is read in": {"src/core/a.cpp": 'auto x = getenv("A");\n'},
    "errno is written in": {"src/capi/a.cpp": "errno = 3;\n"},
    "Boost.Asio stays in": {"src/session/s.cpp": "#include <boost/asio.hpp>\n"},
    "Boost.Beast stays in": {"src/transport/ws.cpp": "#include <boost/beast/http.hpp>\n"},
    "toml++ stays in": {"src/core/a.cpp": "#include <toml++/toml.h>\n"},
    "platform switches stand in": {"src/pipe/a.cpp": "#ifdef _WIN32\n#endif\n"},
    "leaves it a mark": {"src/pipe/a.cpp": "while (is_taken) std::this_thread::yield();\n"},
    "may include include/ only": {"tests/capi/two_test.cpp": '#include "core/error.hpp"\n'},
    "which has no context/context.hpp": {"src/metrics/server.hpp": '#include "context/context.hpp"\n', "src/context/context.hpp": ""},
    "not metrics/text.hpp": {"tools/command/stats_exporter.cpp": '#include "metrics/text.hpp"\n', "src/metrics/text.hpp": ""},
    "a unit test of pipe may not": {"tests/unit/pipe/a_test.cpp": '#include "capi/boundary.hpp"\n'},
}


if __name__ == "__main__":
    sys.exit(planted.run(__doc__, faults, CLEAN, PLANTED))
