"""Another commit's code as one side of a comparison: built beside this one in a cache, run in a process of its own.

The commit's tree is taken from the git repository of the current folder.  Its kernels are compiled unless they are the
very sources that this process's kernels were built from; then those are copied.  The other process gets the workload
as files and answers requests, one JSON line each (worker.py).
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cuzk.ab.runner import Trace, open_named
from cuzk.ab.settings import Setting
from cuzk.ab.workload import Workload
from cuzk.device import Device
from cuzk.errors import DeviceError, InputError

__all__ = ["CommitRunner", "build_commit", "cache_folder"]

_WORKER = Path(__file__).with_name("worker.py")
_BUILD_THREADS = 2


def cache_folder() -> Path:
    """Where commits are built: $XDG_CACHE_HOME/cuzk/commits."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "cuzk" / "commits"


def build_commit(
    revision: str,
    device: Device,
    *,
    repository: Path | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Path:
    """The folder of a commit's package, built for a device if it is not yet.

    Args:
        revision: Anything that git takes for a commit.
        device: Host device whose module is needed; `cuda` compiles its kernels itself.
        repository: A folder of the git repository; the current one by default.
        progress: Called with a line about what is being done.

    Raises:
        InputError: No repository, or no such commit.
        DeviceError: The build fails.
    """
    repository = repository or Path.cwd()
    commit = _git(repository, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()
    folder = cache_folder() / commit
    tree = folder / "tree"
    if not tree.is_dir():
        progress(f"commit {commit[:12]}: unpack")
        _unpack(_git(repository, "archive", commit), tree)
    if not list((tree / "cuzk").glob("_*.so")):
        _provide(tree, folder / "build", device, progress)
    return tree


def _git(repository: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, check=False)
    except FileNotFoundError as error:
        raise InputError("git is not installed", remedy="install it, or compare variants only") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise InputError(
            f"git finds no such commit here: {said or arguments[-1]}",
            where=str(repository),
            limit="a commit of the repository in the current folder",
            remedy="run in a checkout of cuzk, and name a commit such as HEAD~1",
        )
    return done.stdout


def _unpack(archive: bytes, target: Path) -> None:
    """Unpack beside, then rename: a tree is there completely or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as name:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(Path(name) / "tree", filter="data")
        (Path(name) / "tree").rename(target)


def _provide(tree: Path, build: Path, device: Device, progress: Callable[[str], None]) -> None:
    """Put the native modules into a tree: this process's own where the sources are the same, else compiled."""
    from cuzk.device.sources import KERNEL_DIR, host_source_digest

    own = getattr(getattr(device.reference, "_module", None), "source_digest", lambda: None)()
    if own is not None and host_source_digest(tree / "cuzk" / "kernels") == own:
        for module in KERNEL_DIR.parent.glob("_*.so"):
            shutil.copyfile(module, tree / "cuzk" / module.name)
        return
    # What this process has loaded is what the other one will load: not every module of every processor.
    wanted = sorted(name.removeprefix("cuzk.") for name in sys.modules if name.startswith("cuzk._"))
    wanted = [name for name in wanted if list(KERNEL_DIR.parent.glob(f"{name}.*.so"))]
    progress(f"compile {', '.join(wanted)} of that commit: many minutes, once")
    nanobind = _run([sys.executable, "-m", "nanobind", "--cmake_dir"]).strip()
    cmake = shutil.which("cmake") or str(Path(sys.executable).with_name("cmake"))
    options = [f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_DIR={nanobind}"]
    _run([cmake, "-S", str(tree), "-B", str(build), *options])
    _run([cmake, "--build", str(build), "--parallel", str(_BUILD_THREADS), "--target", *wanted])
    for made in build.glob("_*.so"):
        shutil.copyfile(made, tree / "cuzk" / made.name)


def _run(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise DeviceError(
            f"{command[0]} does not run: {error}", remedy="pip install cmake nanobind"
        ) from error
    if done.returncode:
        raise DeviceError(
            f"building that commit failed:\n{(done.stderr or done.stdout)[-2000:]}",
            remedy="pip install cmake nanobind, a C++17 compiler; very old commits may not build at all",
        )
    return done.stdout


class CommitRunner:
    """Runs a setting with another commit's code.

    Args:
        workload: What to prove; saved as files for the other process.
        setting: How; its commit says whose code.
        repository: As for build_commit.
        progress: As for build_commit.

    Raises:
        InputError: No such commit, or it does not know the setting.
        DeviceError: It cannot be built or run.
    """

    def __init__(
        self,
        workload: Workload,
        setting: Setting,
        *,
        repository: Path | None = None,
        progress: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.setting = setting
        tree = build_commit(
            setting.commit or "HEAD", open_named(setting.device), repository=repository, progress=progress
        )
        self._folder = tempfile.TemporaryDirectory(prefix="cuzk-ab-")
        request = _save(workload, Path(self._folder.name)) | {
            "variants": dict(setting.variants), "device": setting.device, "circuits": len(workload.witnesses),
        }  # fmt: skip
        environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1"}
        self._process = subprocess.Popen(
            [sys.executable, str(_WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment, cwd=self._folder.name,
        )  # fmt: skip
        weakref.finalize(self, _end, self._process, self._folder)
        self._ask(request)

    def _ask(self, request: dict[str, Any]) -> Any:
        """One request and its answer."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise DeviceError(
                f"the process of commit {self.setting.commit} ended with status {process.wait()}",
                remedy="its own message stands above",
            )
        answer = json.loads(line)
        if "error" in answer:
            raise InputError(
                f"commit {self.setting.commit}: {answer['error']}",
                remedy="choose variants and formats that this commit knows",
            )
        return answer["value"]

    def trace(self) -> Trace:
        """Prove once; intermediates only where that commit shows them, the proof always."""
        target = Path(self._folder.name) / "trace.npz"
        self._ask({"do": "trace", "to": str(target)})
        trace = Trace()
        with np.load(target) as arrays:
            for name in arrays.files:
                value, _, circuit = name.rpartition(".")
                trace.values.setdefault(value, []).insert(int(circuit), arrays[name])
        return trace

    def sample(self, clock: str) -> dict[str, float]:
        """Prove once and return milliseconds by phase, and in total."""
        return dict(self._ask({"do": "sample", "clock": clock}))


def _save(workload: Workload, folder: Path) -> dict[str, Any]:
    from cuzk.formats import save_cuzk_key, save_witness

    key, witness = folder / "workload.cuzk", folder / "workload.wtns"
    save_cuzk_key(key, workload.key)
    save_witness(witness, workload.witnesses[0])
    return {"do": "open", "key": str(key), "witness": str(witness)}


def _end(process: subprocess.Popen[str], folder: tempfile.TemporaryDirectory[str]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
    folder.cleanup()
