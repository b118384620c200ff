"""Another commit's code as one side of a comparison: built beside this one in a cache, run in a process of its own.

The commit's tree is taken from the git repository of the current folder.  Its kernels are compiled unless they are the
very sources that this process's kernels were built from; then those are copied.  All commits share one build folder and
one folder of sources, into which only files that differ are written: the second commit compiles what its own sources
changed.  The other process gets the workload as files and answers requests, one JSON line each (worker.py).
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import cuzk
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
    commit = _commit_of(repository, revision)
    if changed := _uncommitted(repository):
        progress(
            f"commit {commit[:12]} is without this checkout's {changed} changed files that are not committed"
        )
    folder = cache_folder() / commit
    tree = folder / "tree"
    if not tree.is_dir():
        progress(f"commit {commit[:12]}: unpack")
        _unpack(_git(repository, "archive", commit), tree)
    _provide(tree, folder / "build.log", device, progress)
    return tree


def _commit_of(repository: Path, revision: str) -> str:
    """The full name of a commit."""
    try:
        return _git(repository, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()
    except InputError as error:
        raise InputError(
            f"git finds no such commit here: {revision}",
            where=str(repository),
            limit="a commit of the repository in the current folder",
            remedy="run in a checkout of cuzk, and name a commit such as HEAD~1",
        ) from error


def _uncommitted(repository: Path) -> int:
    """How many files that git knows are not as in the last commit."""
    return len(_git(repository, "status", "--porcelain", "--untracked-files=no").splitlines())


def _git(repository: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, check=False)
    except FileNotFoundError as error:
        raise InputError("git is not installed", remedy="install it, or compare variants only") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise InputError(
            f"git {arguments[0]} failed: {said or arguments[-1]}",
            where=str(repository),
            remedy="run in a checkout of cuzk that git can read",
        )
    return done.stdout


def _unpack(archive: bytes, target: Path) -> None:
    """Unpack beside, then rename: a tree is there completely or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as name:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(Path(name) / "tree", filter="data")
        (Path(name) / "tree").rename(target)


def _provide(tree: Path, log: Path, device: Device, progress: Callable[[str], None]) -> None:
    """Put the native modules into a tree: this process's own where the sources are the same, else compiled."""
    from cuzk.device.sources import host_source_digest

    # What this process has loaded is what the other one will load: not every module of every processor.
    loaded = sorted(name.removeprefix("cuzk.") for name in sys.modules if name.startswith("cuzk._"))
    built = _own_modules()
    loaded = [name for name in loaded if name in built]
    missing = [name for name in loaded if not list((tree / "cuzk").glob(f"{name}.*.so"))]
    own = getattr(getattr(device.reference, "_module", None), "source_digest", lambda: None)()
    if missing and own is not None and host_source_digest(tree / "cuzk" / "kernels") == own:
        for module in built.values():
            shutil.copyfile(module, tree / "cuzk" / module.name)
        return
    if missing:  # an older commit may not have them all
        known = set(re.findall(r"\w+", (tree / "CMakeLists.txt").read_text(encoding="utf-8")))
        missing = [name for name in missing if name in known]
    if not missing:
        return
    progress(f"compile {', '.join(missing)} of that commit: minutes, and less the next time; log: {log}")
    for made in _compile(tree, missing, log):
        shutil.copyfile(made, tree / "cuzk" / made.name)


def _own_modules() -> dict[str, Path]:
    """This package's compiled modules by name; an editable install has them beside no sources."""
    return {
        path.name.partition(".")[0]: path
        for folder in reversed(cuzk.__path__)
        for path in Path(folder).glob("_*.so")
    }


def _compile(tree: Path, modules: Sequence[str], log: Path) -> list[Path]:
    """Compile a tree's modules in the folders that all commits share."""
    source, build = cache_folder() / "source", cache_folder() / "build"
    nanobind = _run([sys.executable, "-m", "nanobind", "--cmake_dir"], log).strip()
    cmake = shutil.which("cmake") or str(Path(sys.executable).with_name("cmake"))
    options = [f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_DIR={nanobind}"]
    log.unlink(missing_ok=True)
    with _one_build_at_a_time():
        for name in ("CMakeLists.txt", "cuzk/kernels", "cuzk/device"):
            _synchronise(tree / name, source / name)
        _run([cmake, "-S", str(source), "-B", str(build), *options], log)
        _run([cmake, "--build", str(build), "--parallel", str(_BUILD_THREADS), "--target", *modules], log)
        return [path for name in modules for path in build.glob(f"{name}.*.so")]


def _synchronise(source: Path, target: Path) -> None:
    """Make a file or folder the same as another; files that are equal keep their time, so nothing is made of them."""
    if source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_file() or target.read_bytes() != source.read_bytes():
            shutil.copyfile(source, target)
        return
    names = {path.name for path in source.iterdir()} - {"__pycache__"}
    for name in names:
        _synchronise(source / name, target / name)
    for old in [path for path in target.iterdir() if path.name not in names]:
        shutil.rmtree(old) if old.is_dir() else old.unlink()


@contextmanager
def _one_build_at_a_time() -> Iterator[None]:
    """Wait for other processes that build commits."""
    with (cache_folder() / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(command: Sequence[str], log: Path) -> str:
    """Run a command; what it says goes to the end of a log."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise DeviceError(
            f"{command[0]} does not run: {error}", remedy="pip install cmake nanobind"
        ) from error
    with log.open("a", encoding="utf-8") as file:
        file.write(f"$ {' '.join(command)}\n{done.stdout}{done.stderr}")
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "error" in line.lower()]
        shown = "\n".join(said[:5]) or (done.stderr or done.stdout)[-1000:]
        raise DeviceError(
            f"building that commit failed:\n{shown}",
            where=str(log),
            limit="the whole log is there",
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
            "variants": dict(setting.variants), "device": setting.device, "tree": str(tree),
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

    key = folder / "workload.cuzk"
    save_cuzk_key(key, workload.key)
    files: dict[int, str] = {}  # a batch of one witness is one file
    for i, witness in enumerate(workload.witnesses):
        if id(witness) not in files:
            files[id(witness)] = str(folder / f"workload-{i}.wtns")
            save_witness(Path(files[id(witness)]), witness)
    return {"do": "open", "key": str(key), "witnesses": [files[id(one)] for one in workload.witnesses]}


def _end(process: subprocess.Popen[str], folder: tempfile.TemporaryDirectory[str]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
    folder.cleanup()
