#!/usr/bin/python3
"""Does what the guide's description of a pod says: the program in its environment, its probes, and its end.

Usage: check_kubernetes.py SOURCE_DIRECTORY DIRECTORY_OF_LIBRARY COMMAND

Where kubernetes_validate of PyPI can be imported, it holds the description against Kubernetes' own schemas. Status 77
where there is no PyYAML to read it with.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

try:
    import yaml
except ImportError:
    print("python3-yaml is not there: nobody reads the description of a pod")
    sys.exit(77)

PATIENCE_S = 30


def eventually(what, done):
    end = time.monotonic() + PATIENCE_S
    while not done():
        if time.monotonic() > end:
            sys.exit(f"{what} fails for {PATIENCE_S} s")


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            return answer.status == 200
    except urllib.error.URLError:
        return False


def hold_against_schemas(documents):
    try:
        import kubernetes_validate  # pylint: disable=import-outside-toplevel
    except ImportError:
        return "no kubernetes_validate to hold it against Kubernetes' schemas"
    for document in documents:
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
    return "Kubernetes' schemas have it so"


def run(container, libraries, command, host):
    def here(text):
        return str(text).replace("0.0.0.0", host).replace("127.0.0.1", host)

    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    environment = {**os.environ, **{each["name"]: here(each["value"]) for each in container["env"]},
                   "LD_LIBRARY_PATH": str(libraries), "PATH": f"{command.parent}:/usr/bin:/bin"}
    bound = f"tcp://{host}:{ports['zmtp']}"
    ready = [here(each) for each in container["readinessProbe"]["exec"]["command"]]
    if bound not in ready:
        sys.exit(f"the probe {ready} is not for the port {bound}")
    alive = container["livenessProbe"]["httpGet"]
    with subprocess.Popen([command, "pub", "-b", bound], env=environment, stdin=subprocess.PIPE) as program:
        try:
            eventually("the readiness probe", lambda: subprocess.run(ready, env=environment, capture_output=True, check=False).returncode == 0)
            eventually("the liveness probe", lambda: answers(f"http://{host}:{ports[alive['port']]}{alive['path']}"))
            program.send_signal(signal.SIGTERM)
            program.wait(PATIENCE_S)
        finally:
            program.kill()


def main(sources, libraries, command):
    text = pathlib.Path(sources, "examples/guide/kubernetes/feed.yaml").read_text(encoding="utf-8")
    service, pods = documents = list(yaml.safe_load_all(text))
    template = pods["spec"]["template"]
    labels = template["metadata"]["labels"]
    if not labels == service["spec"]["selector"] == pods["spec"]["selector"]["matchLabels"]:
        sys.exit("the service does not find the pods")
    if service["metadata"]["name"] != pods["spec"]["serviceName"]:
        sys.exit("the pods are of another service")
    held = hold_against_schemas(documents)
    host = f"127.{os.getpid() >> 8 & 255}.{os.getpid() & 255}.3"
    run(template["spec"]["containers"][0], pathlib.Path(libraries).resolve(), pathlib.Path(command).resolve(), host)
    print("the probes answer;", held)


if __name__ == "__main__":
    main(*sys.argv[1:])
