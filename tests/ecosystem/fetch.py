"""How a program is fetched: packages and sources of the distribution, and of the registries of languages."""

import glob
import os
import re
import shutil
import subprocess

from frame import DISTRIBUTION_PYTHON, Failed, Unavailable, require_tools


def installed_version(package):
    """The version of an installed package, or None."""
    said = subprocess.run(["dpkg-query", "-W", "-f", "${Status} ${Version}", package], capture_output=True, text=True, check=False).stdout
    return said.rsplit(" ", 1)[1] if said.startswith("install ok installed") else None


def apt(place, *packages):
    """Installs what is missing; answers the version of the first."""
    require_tools("apt-get", "dpkg-query")
    missing = [each for each in packages if not installed_version(each)]
    if missing:
        root = [] if os.geteuid() == 0 else ["sudo", "-n"]
        install = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300", "install", "-y",
                   "--no-install-recommends", *missing]
        try:
            place.command([*root, "apt-get", "update"], check=False)
            place.command(install)
        except Failed as failure:
            raise Unavailable("apt-get installs no %s" % " ".join(missing)) from failure
    return installed_version(packages[0])


def debian_source(place, package):
    """Unpacks a source package, with the distribution's patches; answers where it lies and its version.

    A mirror need not have the sources of an older release, so Debian's present one comes next. The machine's own lists stay as they are.
    """
    apt(place, "dpkg-dev")
    said = place.output(["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI) $(CODENAME) $(COMPONENT)", "Created-By: Packages"])
    rows = [row.split() for row in said.splitlines() if re.match("(Debian|Ubuntu) ", row)]
    releases = [[row[1:] for row in rows], [(uri, "stable", component) for label, uri, _, component in rows if label == "Debian"]]
    for release in releases:
        directory = place.path("debian")
        if source_from(place, directory, release, package):
            version = re.search("^Version: (\\S+)", text_of(glob.glob(os.path.join(directory, "*.dsc"))[0]), re.MULTILINE).group(1)
            return next(entry.path for entry in os.scandir(directory) if entry.name.startswith(package + "-") and entry.is_dir()), version
    raise Unavailable("apt-get source gives no %s" % package)


def source_from(place, directory, release, package):
    """Whether a source package could be unpacked in a directory that is made anew, from what a release is made of."""
    shutil.rmtree(directory, ignore_errors=True)
    lists = os.path.join(directory, "lists")
    os.makedirs(os.path.join(lists, "partial"))
    with open(os.path.join(directory, "sources.list"), "w", encoding="utf-8") as out:
        out.writelines(sorted({"deb-src %s %s %s\n" % tuple(part) for part in release}))
    apart = ["apt-get", "-qq", "-o", "Dir::Etc::SourceList=%s/sources.list" % directory, "-o", "Dir::Etc::SourceParts=/dev/null",
             "-o", "Dir::State::Lists=" + lists, "-o", "APT::Sandbox::User=root"]
    return all(place.command([*apart, *what], cwd=directory, check=False)[0] == 0 for what in (["update"], ["source", package]))


def text_of(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


def maven(place, artifact, directory):
    """Copies an artifact of Maven Central into a directory."""
    require_tools("java", "mvn")
    try:
        place.command(["mvn", "-B", "-q", "dependency:copy", "-Dartifact=" + artifact, "-DoutputDirectory=" + directory])
    except Failed as failure:
        raise Unavailable("mvn: %s" % failure) from failure


def environment_of_python(place, *packages, base=None, **variables):
    """A virtual environment with packages from PyPI, of the distribution's Python or of another; answers its interpreter."""
    python = place.path("python", "bin", "python")
    if not os.path.exists(python):
        place.command([*([base, "-m", "venv"] if base else [DISTRIBUTION_PYTHON, "-m", "venv", "--without-pip"]), place.path("python")])
    pip(place, python, "install", *packages, **variables)
    return python


def pip(place, python, *arguments, **variables):
    """Runs the pip of a virtual environment, or the distribution's for one that has none."""
    own = os.path.exists(os.path.join(os.path.dirname(python), "pip"))
    command = [python, "-m", "pip"] if own else [DISTRIBUTION_PYTHON, "-m", "pip", "--python", python]
    try:
        return place.output([*command, "--quiet", *arguments],
                            PIP_ROOT_USER_ACTION="ignore", PIP_DISABLE_PIP_VERSION_CHECK="1", **variables)
    except Failed as failure:
        raise Unavailable("pip: %s" % failure) from failure


def python_version_of(place, python, package):
    return place.output([python, "-c", "import importlib.metadata as m; print(m.version('%s'))" % package]).strip()


def python_source(place, python, package, version):
    """Unpacks the source distribution of a package; answers where it lies."""
    pip(place, python, "download", "--no-deps", "--no-binary", package, "-d", place.directory, "%s==%s" % (package, version))
    place.command(["tar", "xf", glob.glob(place.path(package + "-*.tar.gz"))[0]])
    return place.path("%s-%s" % (package, version))


def copy_of(directory, to):
    """A copy that can be written to."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(directory, to)
    subprocess.run(["chmod", "-R", "u+w", to], check=True)
    return to
