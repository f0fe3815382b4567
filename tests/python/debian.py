"""Programs of Debian's packages, installed where that may be done."""

import os
import shutil
import subprocess


class Unavailable(Exception):
    """What a test needs is not here and cannot be installed; why."""


def install(packages, programs):
    """Installs the packages if a program is missing; raises Unavailable if it cannot."""

    def missing():
        path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
        return [name for name in programs if shutil.which(name, path=path) is None]

    if not missing():
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise Unavailable(f"needs root and apt-get to install {' '.join(packages)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run(
            # Somebody else's apt-get is waited for.
            ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=120", *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise Unavailable(f"apt-get {arguments[0]} failed: {' '.join(said)}")
    if missing():
        raise Unavailable(f"the packages have no {' '.join(missing())}")
