"""A container without a daemon: the steps of a Containerfile in a root of its own, then what its ENTRYPOINT starts.

The root holds this system's /usr, a copy of the running Python in /usr/local as in the image ``python``, and of its
packages those alone that the file installs. Namespaces, a read-only root, the capabilities that Docker leaves, and no
network, also where the image would be built. Needs root.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILE = ROOT / "book" / "tools" / "coursework.Containerfile"
KEPT = "chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,net_bind_service,sys_chroot,setfcap"
# The image has pip; the wheel is built with what pip would download for it.
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_ROOT_USER_ACTION": "ignore"}

START = (Path(__file__).parent / "container.sh").read_text(encoding="utf-8")


def missing():
    """What this machine lacks for it, or ""."""
    if os.geteuid() != 0:
        return "needs root, for namespaces and a root of its own"
    lacking = [tool for tool in ("unshare", "setpriv", "chroot", "mount", "ldconfig") if not shutil.which(tool)]
    if lacking:
        return f"needs {', '.join(lacking)}"
    trial = ["unshare", "--mount", "--pid", "--net", "--fork", "mount", "--make-rprivate", "/"]
    trial = subprocess.run(trial, capture_output=True)
    return f"no namespaces here: {trial.stderr.decode().strip()}" if trial.returncode else ""


def instructions(text):
    """(word, rest) of every line of a Containerfile; comments are gone, continued lines joined."""
    lines = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n", " ", lines)
    return [tuple(line.strip().split(None, 1)) for line in joined.split("\n") if line.strip()]


def told(text):
    """What the file's own comment tells a teacher to run: the volumes (here, there), and the command in the image."""
    comment = "\n".join(line.lstrip("# ") for line in text.split("\n") if line.startswith("#"))
    (line,) = [one for one in re.sub(r"\\\n", " ", comment).split("\n") if one.startswith("podman run ")]
    words = shlex.split(line)
    volumes = [words[number + 1].split(":")[:2] for number, word in enumerate(words) if word == "-v"]
    return volumes, words[words.index("attention-grader") + 1 :]


def installed(text):
    """The packages that RUN lines fetch by name, with all that these require."""
    names = []
    for word, rest in instructions(text):
        for found in re.findall(r"pip install ([^&;|]*)", rest) if word == "RUN" else ():
            names += [one for one in shlex.split(found) if not one.startswith(("-", "/", "."))]
    return _closure(names)


def _closure(names):
    found, waiting = set(), list(names)
    while waiting:
        name = re.match(r"[\w.-]+", waiting.pop()).group().lower().replace("_", "-")
        if name in found:
            continue
        try:
            required = distribution(name).requires or []
        except PackageNotFoundError:
            continue  # for another system or an older Python
        found.add(name)
        waiting += [one for one in required if "extra ==" not in one]
    return found


class Container:
    """An image that was built, and runs of it.

    Args:
        folder: An empty folder for the root.
        text: The Containerfile.
        bubblewrap: Leave this system's bubblewrap in it; it will find namespaces forbidden.
    """

    def __init__(self, folder, text, *, bubblewrap=False):
        self.bubblewrap = bubblewrap
        self.root, self.left, self.steps = folder / "root", folder / "left", instructions(text)
        self.work, self.environment = (
            "/",
            {
                "PATH": "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin",
                "LANG": "C.UTF-8",
                "HOME": "/root",
            },
        )
        self._base(text)
        for word, rest in self.steps:
            {"RUN": self._run, "COPY": self._copy, "ENV": self._env, "WORKDIR": self._workdir}.get(word, _nothing)(rest)
        (self.entry,) = [json.loads(rest) for word, rest in self.steps if word == "ENTRYPOINT"]

    def run(self, *arguments, volumes=(), entry=None, read_only=True, timeout=300):
        """``run --rm --network none --read-only --tmpfs /tmp`` with volumes (here, there)."""
        command = [
            f"--bounding-set=-all,+{KEPT.replace(',', ',+')}",
            "--inh-caps=-all",
            *(entry or self.entry),
            *arguments,
        ]
        return self._enter(["setpriv", *command], volumes, read_only, timeout)

    def _enter(self, command, volumes=(), read_only=False, timeout=300, **more):
        """Run a command in the root, as process of namespaces of their own."""
        settings = [f"{name}={value}" for name, value in (self.environment | more).items()]
        inner = [
            shutil.which("chroot"),
            str(self.root),
            "/bin/sh",
            "-c",
            f'cd {self.work} && exec "$@"',
            "--",
            *command,
        ]
        outer = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "SITE": sysconfig.get_path("purelib"),
            "VOLUMES": " ".join(f"{here}:{there}" for here, there in volumes),
            "READ_ONLY": "yes" * read_only,
            "BUBBLEWRAP": "yes" * self.bubblewrap,
            "LEFT": str(self.left),
        }
        apart = ["unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child"]
        command = [*apart, "/bin/sh", "-c", START, "--", str(self.root), *settings, *inner]
        return subprocess.run(command, env=outer, capture_output=True, text=True, timeout=timeout)

    def _base(self, text):
        """What the base image has: a system, Python with pip in /usr/local, nothing else."""
        for name in (
            "usr",
            "proc",
            "dev",
            "etc",
            "opt/site",
            "run",
            ".local/bin",
            ".local/lib",
            "root",
            "var/tmp",
            "tmp",
        ):
            (self.root / name).mkdir(parents=True)
        self.root.chmod(0o755)
        for name, mode in (("tmp", 0o1777), ("var/tmp", 0o1777), ("root", 0o700)):
            (self.root / name).chmod(mode)
        for name in ("bin", "sbin", "lib", "lib32", "lib64"):
            if os.path.islink(f"/{name}"):
                (self.root / name).symlink_to(os.readlink(f"/{name}"))
        for name in ("passwd", "group"):
            shutil.copy(f"/etc/{name}", self.root / "etc")
        self._python({*installed(text), "pip", "setuptools", "wheel"})
        done = self._enter(["ldconfig", "-f", "/etc/ld.so.conf"])
        done = self._enter(["python", "-c", "import sys; print(sys.prefix)"]) if done.returncode == 0 else done
        assert done.stdout == "/usr/local\n", f"{done.stdout}{done.stderr}"

    def _python(self, packages):
        local, version = self.root / ".local", f"python{sys.version_info[0]}.{sys.version_info[1]}"
        base = Path(sys.base_prefix)
        shutil.copy(os.path.realpath(sys.executable), local / "bin" / version)
        for name in ("python", "python3"):
            (local / "bin" / name).symlink_to(version)
        (local / "bin" / "pip").write_text('#!/bin/sh\nexec python -m pip "$@"\n')
        (local / "bin" / "pip").chmod(0o755)
        for library in base.glob("lib/libpython*.so*"):
            shutil.copy(library, local / "lib", follow_symlinks=False)
        places = [path.read_text() for path in Path("/etc/ld.so.conf.d").glob("*.conf")]
        (self.root / "etc/ld.so.conf").write_text("\n".join(["/usr/local/lib", *places]))
        leave = shutil.ignore_patterns(
            "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "config-*"
        )
        shutil.copytree(sysconfig.get_path("stdlib"), local / "lib" / version, ignore=leave, symlinks=True)
        site = local / "lib" / version / "site-packages"
        site.mkdir()
        for name in packages:
            for top in {path.parts[0] for path in distribution(name).files or () if path.parts[0] != ".."}:
                if top != "__pycache__":
                    (site / top).symlink_to(f"/opt/site/{top}")

    def _run(self, rest):
        done = self._enter(["/bin/sh", "-c", rest], **OFFLINE)
        assert done.returncode == 0, f"RUN {rest}\n{done.stdout}{done.stderr}"

    def _copy(self, rest):
        *sources, target = rest.split()
        place = self.root / target.lstrip("/")
        for source in map(ROOT.joinpath, sources):
            if source.is_dir():
                shutil.copytree(source, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                place.mkdir(parents=True, exist_ok=True) if target.endswith("/") else None
                shutil.copy(source, place)

    def _env(self, rest):
        self.environment |= dict(one.split("=", 1) for one in shlex.split(rest))

    def _workdir(self, rest):
        self.work = rest


def _nothing(rest):
    """FROM, ARG and ENTRYPOINT change nothing in the root."""
