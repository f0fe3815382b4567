"""A Slurm of one machine, for as long as a test takes.

munge, slurmctld and slurmd run in the foreground as children of this process, on loopback and on
ports nobody else has, with everything they write in one folder. Leaving the context ends them, and
what they started, whatever happened.
"""

import getpass
import os
import re
import socket
import subprocess
import time
from pathlib import Path

import debian

PACKAGES = ["slurm-wlm", "munge"]
PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo", "scontrol"]
START_S = 30

CONFIGURATION = """\
ClusterName=poolsweep-test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld_port}
SlurmdPort={slurmd_port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/completed.txt
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
KillWait=5
# What is said below about the node holds, whatever the machine has.
SlurmdParameters=config_overrides
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=1000 State=UNKNOWN
PartitionName=sweep Nodes={host} Default=YES State=UP
"""


def install():
    """Installs Debian's packages if a program is missing; raises Unavailable if it cannot."""
    debian.install(PACKAGES, PROGRAMS)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Slurm:
    """The running cluster; commands find it by their environment."""

    def __init__(self, folder, cpus=4):
        self.folder = Path(folder)
        self.host = socket.gethostname().split(".")[0]
        self.daemons = []
        self.cpus = cpus
        self.environment = {
            # Not a variable of a Slurm job that these tests may themselves run in.
            **{k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_"))},
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin",
        }

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_):
        self._stop()

    def _start(self):
        for name in ("state", "spool"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=self.host, user=getpass.getuser(), folder=self.folder, cpus=self.cpus,
            ctld_port=free_port(), slurmd_port=free_port(),
        ))
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        self._daemon(
            # Forced: the folders of a test are closed to other users, which munged dislikes.
            "munged", "--foreground", "--force", f"--key-file={key}",
            f"--socket={self.folder}/munge.socket", f"--pid-file={self.folder}/munge.pid",
            f"--log-file={self.folder}/munge.log", f"--seed-file={self.folder}/munge.seed",
        )
        self._until("munged answers", (self.folder / "munge.socket").exists)
        self._daemon("slurmctld", "-D")
        self._daemon("slurmd", "-D", "-N", self.host)
        self._until("the node is idle", lambda: self.run("sinfo", "-h", "-o", "%t", code=None) == "idle")

    def _daemon(self, *command):
        with open(self.folder / f"{command[0]}.out", "wb") as out:
            self.daemons.append(subprocess.Popen(
                command, env=self.environment, cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            ))

    def _stop(self):
        if len(self.daemons) > 1:
            # What runs ends first: slurmd leaves its jobs alone when it ends.
            self.run("scancel", f"--user={getpass.getuser()}", code=None)
            deadline = time.monotonic() + 10
            while self.run("squeue", "-h", code=None) and time.monotonic() < deadline:
                time.sleep(0.1)
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in reversed(self.daemons):
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.daemons.clear()

    def _until(self, what, holds, within_s=START_S):
        deadline = time.monotonic() + within_s
        while not holds():
            for daemon in self.daemons:
                assert daemon.poll() is None, f"{daemon.args[0]} ended: {self.logs()}"
            assert time.monotonic() < deadline, f"not within {within_s} s: {what}\n{self.logs()}"
            time.sleep(0.05)

    def logs(self):
        """The last lines of every daemon."""
        files = sorted([*self.folder.glob("*.out"), *self.folder.glob("*.log")])
        return "\n".join(f"{path.name}:\n{path.read_text()[-1500:]}" for path in files)

    def run(self, *command, code=0):
        """Runs one of Slurm's commands; its output. Any exit code does for `code=None`."""
        done = subprocess.run(
            [*map(str, command)], env=self.environment, capture_output=True, text=True, timeout=60,
        )
        if code is not None:
            assert done.returncode == code, f"{command}: {done.stdout}{done.stderr}\n{self.logs()}"
        return done.stdout.strip()

    def signal(self, job, index, name):
        """Sends a signal to the batch shell of a task, as Slurm does before a time limit."""
        # While siblings wait for CPUs the signal arrives too, but scancel says that it did not.
        self.run("scancel", f"--signal={name}", "--batch", f"{job}_{index}")

    def until(self, what, holds, within_s=60):
        """Waits until something holds; fails with the daemons' logs if it does not in time."""
        self._until(what, holds, within_s)

    def states(self, job):
        """The state of every task of a job that Slurm still knows: index to state."""
        lines = self.run("squeue", "-h", "-r", "-t", "all", "-j", job, "-o", "%K %T", code=None)
        return {index: state for index, state in (line.split() for line in lines.splitlines())}

    def task(self, job, index):
        """What Slurm knows of one task of an array, by key."""
        told = self.run("scontrol", "-o", "show", "job", f"{job}_{index}")
        return dict(re.findall(r"(\S+?)=(\S*)", told))
