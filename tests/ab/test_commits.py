"""Commits as a side of a comparison: one build folder for all, and errors that say what to do.

Would catch: a second commit that compiles everything again, one that gets the first one's modules, a header that went
but stays, a build whose failure leaves no log, and an older commit asked for a module that it does not have.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import cuzk
from cuzk.ab import commits
from cuzk.ab.commits import build_commit
from cuzk.device import get_device, sources
from cuzk.errors import DeviceError, InputError

#: Builds "modules" by copying, one from each of two sources, and puts down what it builds.
RECIPE = """
cmake_minimum_required(VERSION 3.18...3.31)
project(fake NONE)
foreach(name _cpu_v3 _pairing _cpu)
  set(source ${CMAKE_SOURCE_DIR}/cuzk/kernels/${name}.cuh)
  set(made ${CMAKE_BINARY_DIR}/${name}.fake.so)
  add_custom_command(OUTPUT ${made} DEPENDS ${source}
    COMMAND ${CMAKE_COMMAND} -E copy ${source} ${made}
    COMMAND ${CMAKE_COMMAND} -E echo "made ${name}")
  add_custom_target(${name} DEPENDS ${made})
endforeach()
"""


class Checkout:
    """A repository whose modules are copies of their sources."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.said = folder, list[str]()
        self.git("init", "--quiet")
        self.write("CMakeLists.txt", RECIPE)
        self.write("cuzk/device/sources.py", "")
        for name in ("_cpu", "_cpu_v3", "_pairing"):
            self.write(f"cuzk/kernels/{name}.cuh", "first")

    def git(self, *words: str) -> str:
        self.folder.mkdir(exist_ok=True)
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@t.invalid", "-C", str(self.folder), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", "state")
        return self.git("rev-parse", "HEAD")

    def build(self, revision: str = "HEAD") -> Path:
        return build_commit(revision, get_device("cpu"), repository=self.folder, progress=self.said.append)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # The recipe needs no nanobind, and an environment that only runs the package has none.
    (tmp_path / "nanobind").mkdir()
    (tmp_path / "nanobind" / "__main__.py").write_text("print('/nowhere')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(sources, "host_source_digest", lambda directory=None: "of other sources")
    own = [path.name.split(".")[0] for folder in cuzk.__path__ for path in Path(folder).glob("_*.so")]
    loaded = [name for name in ("_cpu", "_cpu_v3", "_pairing") if name in own]
    modules: dict[str, Any] = {f"cuzk.{name}": None for name in loaded}
    monkeypatch.setattr("cuzk.ab.commits.sys", SimpleNamespace(executable=sys.executable, modules=modules))
    return Checkout(tmp_path / "checkout")


def test_the_second_commit_compiles_what_it_changed(checkout: Checkout) -> None:
    one = checkout.commit()
    first = checkout.build()
    checkout.write("cuzk/kernels/_cpu_v3.cuh", "second")
    (checkout.folder / "cuzk" / "kernels" / "old.cuh").write_text("x")
    two = checkout.commit()
    second = checkout.build()
    assert (first / "cuzk" / "_cpu_v3.fake.so").read_text() == "first"
    assert (second / "cuzk" / "_cpu_v3.fake.so").read_text() == "second"
    assert (second / "cuzk" / "_pairing.fake.so").read_text() == "first"
    logs = [(commits.cache_folder() / commit / "build.log").read_text() for commit in (one, two)]
    assert "made _pairing" in logs[0]
    assert "made _cpu_v3" in logs[1]
    assert "made _pairing" not in logs[1], "its source is the first commit's"
    said = len(checkout.said)
    assert checkout.build(one) == first
    assert len(checkout.said) == said, "a commit that is there is neither unpacked nor built again"
    (checkout.folder / "cuzk" / "kernels" / "old.cuh").unlink()
    checkout.write("cuzk/kernels/_pairing.cuh", "third")
    checkout.commit()
    assert (checkout.build() / "cuzk" / "_pairing.fake.so").read_text() == "third"
    assert not (commits.cache_folder() / "source" / "cuzk" / "kernels" / "old.cuh").exists()


def test_an_older_commit_need_not_have_every_module(checkout: Checkout) -> None:
    checkout.write("CMakeLists.txt", RECIPE.replace(" _pairing", ""))
    checkout.commit()
    assert not list((checkout.build() / "cuzk").glob("_pairing*"))


def test_what_cannot_be_built_is_said_with_the_log(checkout: Checkout) -> None:
    checkout.write("CMakeLists.txt", RECIPE.replace("-E copy ${source}", "-E copy ${source}.gone"))
    commit = checkout.commit()
    with pytest.raises(DeviceError, match="building that commit failed") as failed:
        checkout.build()
    log = commits.cache_folder() / commit / "build.log"
    assert failed.value.where == str(log)
    assert "gone" in log.read_text()
    with pytest.raises(InputError, match="no such commit here: nowhere"):
        checkout.build("nowhere")
    with pytest.raises(InputError, match="no such commit here: HEAD"):
        build_commit("HEAD", get_device("cpu"), repository=checkout.folder.parent)


def test_changes_that_are_not_committed_are_noted(checkout: Checkout) -> None:
    checkout.commit()
    checkout.build()
    assert not any("not committed" in line for line in checkout.said)
    checkout.write("cuzk/device/sources.py", "# changed")
    checkout.build()
    assert "without this checkout's 1 changed files" in checkout.said[-1]
