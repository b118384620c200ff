"""Kill and interrupt commands at random moments, and look at what is left.

    python -m tests.cli.kills --times 200 --seed 1

Every file-writing command (kill_cases) is started in a folder that is empty or holds an earlier run's files, and is
ended by SIGKILL or SIGINT: at a random time, or right before a random one of the steps that create, link, rename or
remove a file, since most of the time nothing is written. Then:

* every output is as it was before, or complete: byte for byte what an undisturbed run writes;
* a log that grows line by line (events, memory) holds whole lines, but for the last;
* nothing else is in the folder, but for a file `.NAME.xxxxxxxxxxxx.part` after SIGKILL;
* after SIGINT the exit code is 130 and the message says so, without a traceback, or the command had finished;
* the same command, run again, succeeds, writes the right bytes, and leaves nothing else in the folder.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.kill_cases import CASES, Case, make_inputs

__all__ = ["Campaign", "main"]

_ROOT = Path(__file__).resolve().parents[2]
_LEFTOVER = re.compile(r"\..+\.[0-9a-f]{12}\.part")
_OLD = b"what was here before"
#: Longest run of a command, seconds.
_PATIENCE_S = 120.0
#: In so many kills every way to end must have come up.
_ENOUGH = 16

#: Runs before the command in the process under test: counts the steps that change files, and ends the process by a
#: signal before step number sys.argv[2]; 0 only counts, into the file sys.argv[1].
_HOOK = """
import os, sys
_file, _step, _signal = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
_seen = 0
def _hook(event, arguments):
    global _seen
    if event == "open":
        if not isinstance(arguments[2], int) or arguments[2] & os.O_ACCMODE == os.O_RDONLY:
            return
    elif event not in ("os.link", "os.rename", "os.remove", "os.truncate"):
        return
    _seen += 1
    if _seen == _step:
        os.kill(os.getpid(), _signal)
sys.addaudithook(_hook)
"""
_MAIN = "sys.argv = ['cuzk', *sys.argv[4:]]; from cuzk.cli import main; main()"
_CODE = "sys.argv = ['-c', *sys.argv[4:]]; "
_COUNT = "import atexit; atexit.register(lambda: print(_seen, file=sys.stderr))\n"


@dataclass(frozen=True)
class Reference:
    """An undisturbed run: what it writes, how long it takes, and in how many steps."""

    contents: dict[str, bytes]
    seconds: float
    steps: int


@dataclass
class Campaign:
    """Some kills.

    Args:
        folder: For all files; emptied case by case.
        seed: Of commands, moments and signals.
    """

    folder: Path
    seed: int
    results: collections.Counter[str] = field(default_factory=collections.Counter)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._source = random.Random(self.seed)
        self._references: dict[str, Reference] = {}
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            # Children of a background job would ignore Ctrl-C, as they should; here that would test nothing.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        inputs = self.folder / "inputs"
        inputs.mkdir()
        make_inputs(inputs, self._run_quietly)

    def run(self, times: int) -> None:
        """Kill so many times; every command comes before one comes again."""
        for number in range(times):
            case = CASES[number % len(CASES)]
            reference = self._reference(case)
            text = self._once(case, reference)
            if text:
                self.faults.append(f"kill {number} (seed {self.seed}), {case.name}: {text}")
        if times >= _ENOUGH:
            seen = " ".join(self.results)
            self.faults += [f"nothing was {word}" for word in ("killed", "interrupted") if word not in seen]

    def _start(
        self,
        case: Case,
        folder: Path,
        *,
        step: int = 0,
        number: int = 0,
        force: bool = False,
        count: bool = False,
    ) -> subprocess.Popen[str]:
        code = _HOOK + (_COUNT if count else "") + (_MAIN if case.code is None else _CODE + case.code)
        words = [*case.words, *([case.force] if force and case.force else [])]
        places = [_ROOT, _ROOT / "oracles", _ROOT / "fuzz", _ROOT / "examples"]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, places)),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return subprocess.Popen(
            [sys.executable, "-c", code, "-", str(step), str(number), *words],
            cwd=folder, env=environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip

    def _run_quietly(self, folder: Path, words: tuple[str, ...]) -> None:
        with self._start(Case("input", words, ()), folder) as process:
            _, text = process.communicate(timeout=_PATIENCE_S)
        assert process.returncode == 0, text

    def _fresh(self) -> Path:
        folder = self.folder / "work"
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir()
        return folder

    def _reference(self, case: Case) -> Reference:
        if case.name not in self._references:
            folder = self._fresh()
            start = time.monotonic()
            with self._start(case, folder, count=True) as process:
                _, text = process.communicate(timeout=_PATIENCE_S)
            seconds = time.monotonic() - start
            assert process.returncode == 0, (case.name, text)
            assert {path.name for path in folder.iterdir()} == {
                *case.outputs,
                *(name for name, _ in case.logs),
            }
            contents = {name: (folder / name).read_bytes() for name in case.outputs}
            steps = int(text.rstrip().rsplit("\n", 1)[-1])
            assert steps >= 2 * len(case.outputs), (case.name, steps)
            self._references[case.name] = Reference(contents, seconds, steps)
        return self._references[case.name]

    def _once(self, case: Case, reference: Reference) -> str:
        """One kill; gives what is wrong, or nothing."""
        folder, source = self._fresh(), self._source
        replace, number = source.random() < 0.5, source.choice((signal.SIGKILL, signal.SIGINT))
        at_step = source.random() < 0.6
        if replace:
            for name in case.outputs:
                (folder / name).write_bytes(_OLD)
        step = source.randrange(1, reference.steps + 1) if at_step else 0
        with self._start(case, folder, step=step, number=number, force=replace) as process:
            try:
                process.wait(source.uniform(0.0, 1.1 * reference.seconds) if not at_step else _PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.send_signal(number)
            _, text = process.communicate(timeout=_PATIENCE_S)
        ending = _ending(case, number, process.returncode, text)
        self.results[f"{number.name} {'at a step' if at_step else 'at a time'}: {ending}"] += 1
        problem = "" if ending in _GOOD_ENDINGS else f"exit code {process.returncode}, {text!r}"
        problem = problem or self._look(case, reference, folder, replace, killed=number == signal.SIGKILL)
        return problem or self._again(case, reference, folder)

    def _look(self, case: Case, reference: Reference, folder: Path, replace: bool, *, killed: bool) -> str:
        """What is wrong with a folder after a kill."""
        before = _OLD if replace else None
        complete = 0
        for name in case.outputs:
            content = (folder / name).read_bytes() if (folder / name).exists() else None
            if content not in (before, reference.contents[name]):
                return f"{name} holds {content!r:.80}"
            complete += content == reference.contents[name]
        self.results[
            f"outputs in place: {'all' if complete == len(case.outputs) else complete or 'none'}"
        ] += 1
        for name, check in case.logs:
            if (folder / name).exists():
                check(folder / name)
        others = {path.name for path in folder.iterdir()} - {*case.outputs, *(name for name, _ in case.logs)}
        self.results["files left beside"] += len(others)
        if [name for name in others if not killed or not _LEFTOVER.fullmatch(name)]:
            return f"left behind: {sorted(others)}"
        return ""

    def _again(self, case: Case, reference: Reference, folder: Path) -> str:
        """What is wrong after the same command, undisturbed."""
        force = any((folder / name).exists() for name in case.outputs)
        with self._start(case, folder, force=force) as process:
            _, text = process.communicate(timeout=_PATIENCE_S)
        if process.returncode:
            return f"run again, it ends with {process.returncode}: {text!r}"
        found = {path.name for path in folder.iterdir()}
        if found != {*case.outputs, *(name for name, _ in case.logs)}:
            return f"run again, it leaves {sorted(found)}"
        wrong = [
            name for name, content in reference.contents.items() if (folder / name).read_bytes() != content
        ]
        return f"run again, it writes other bytes: {wrong}" if wrong else ""


_GOOD_ENDINGS = ("killed", "interrupted", "finished first", "before Python ran cuzk")


def _ending(case: Case, number: signal.Signals, code: int, text: str) -> str:
    """How a process ended, in a word; anything that is not in _GOOD_ENDINGS is a fault."""
    if code == 0:
        return "finished first"
    if number == signal.SIGKILL:
        return "killed" if code == -signal.SIGKILL else "wrong"
    if code == 130 and "Traceback" not in text:
        return "interrupted" if "interrupted: no unfinished output was left behind" in text else "wrong"
    if case.code is not None and code == -signal.SIGINT and text.endswith("KeyboardInterrupt\n"):
        return "interrupted"  # Python's own way to end, which is that of a program that uses the library
    # Nobody can catch what arrives while the interpreter itself starts (at first it ends without a word); no file
    # was touched then.
    is_early = text == "" or text.endswith("KeyboardInterrupt\n")
    own = "/cuzk/cli/" in text or "interrupted" in text or not is_early
    is_pythons = code == -signal.SIGINT or text.startswith("Fatal Python error: init_import_site")
    return "before Python ran cuzk" if is_pythons and not own else "wrong"


def main() -> int:
    """Run a campaign and print its counts; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cuzk-kills-") as folder:
        campaign = Campaign(Path(folder), options.seed)
        campaign.run(options.times)
    for name, count in sorted(campaign.results.items()):
        print(f"{count:6}  {name}")
    for fault in campaign.faults:
        print(f"FAULT   {fault}")
    seconds = time.monotonic() - start
    print(f"{options.times} kills of {len(CASES)} commands, seed {options.seed}, {seconds:.0f} s: "
          f"{len(campaign.faults)} faults")  # fmt: skip
    return 1 if campaign.faults else 0


if __name__ == "__main__":
    sys.exit(main())
