"""How a program is fetched: packages and sources of the distribution, and of the registries of languages."""

import glob
import os
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


def environment_of_python(place, *packages, **variables):
    """A virtual environment with packages from PyPI; answers its interpreter."""
    python = place.path("python", "bin", "python")
    if not os.path.exists(python):
        place.command([DISTRIBUTION_PYTHON, "-m", "venv", "--without-pip", place.path("python")])
    pip(place, python, "install", *packages, **variables)
    return python


def pip(place, python, *arguments, **variables):
    try:
        return place.output([DISTRIBUTION_PYTHON, "-m", "pip", "--quiet", "--python", python, *arguments],
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
