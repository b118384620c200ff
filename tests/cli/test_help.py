"""Help texts: quick to show, and with examples that are real commands.

Would catch: an import at the top of a module that makes every command slow, an example with an option that is
no more, an example that fails.
"""

from __future__ import annotations

import inspect
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from cuzk.circuits.catalogue import find_circuit
from cuzk.cli.app import make_app
from cuzk.cli.help_text import epilog, example_commands
from cuzk.curves import get_curve
from cuzk.formats import encode_proof, load_proof
from tests.cli.support import circuit, cuzk
from tests.formats.ptau_builder import Secrets, ptau_bytes

app = make_app()

_LINE_WIDTH = 78
_HEAVY = (
    "numpy",
    "cupy",
    "py_arkworks_bls12381",
    "psutil",
    "cuzk.curves",
    "cuzk.device",
    "cuzk.groth16",
    "cuzk.ops",
)
_SHOW_HELP = f"""
import sys
from cuzk.cli import main
sys.argv = ["cuzk", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(sorted(set({_HEAVY!r}) & set(sys.modules)), file=sys.stderr)
"""


def _epilogs() -> dict[str, str]:
    """Command path -> text of its examples."""
    found = {"": app.info.epilog or ""}
    for command in app.registered_commands:
        found[command.name or ""] = command.epilog or ""
    for group in app.registered_groups:
        assert group.typer_instance is not None
        for command in group.typer_instance.registered_commands:
            found[f"{group.name} {command.name}"] = command.epilog or ""
    return found


_EXAMPLES = [command for text in _epilogs().values() for command in example_commands(text)]
#: Commands whose examples are not run here: one compiles kernels for several GPUs, some need a daemon
#: (tests/engine/test_commands.py), events of a run, a repository or minutes (tests/ab/, tests/telemetry/).
_SLOW = {
    "perf",
    "daemon",
    "submit",
    "await",
    "status",
    "cancel",
    "preload",
    "evict",
    "ab",
    "check",
    "waterfall",
}


@pytest.mark.parametrize("words", [["--help"], ["prove", "-h"], ["--version"], ["key", "check", "--help"]])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SHOW_HELP, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "[]"
    assert "cuzk" in done.stdout


@pytest.mark.parametrize("word", ["prove", "key", "perf"])
def test_one_command_alone_is_what_it_is_among_all(word: str) -> None:
    """Would catch a table that leaves out or mixes up commands, and one that declares more than it was asked for."""
    alone: Any = get_command(make_app(word))
    everything: Any = get_command(app)
    assert list(alone.commands) == [word]
    runner = CliRunner()
    shown = [runner.invoke(one, [word, "--help"]) for one in (make_app(word), app)]
    assert shown[0].exit_code == 0
    assert shown[0].output == shown[1].output
    for unknown in (None, "prov", "--help", ""):
        assert list(get_command(make_app(unknown)).commands) == list(everything.commands)  # type: ignore[attr-defined]


def test_every_command_has_examples_of_itself() -> None:
    epilogs = _epilogs()
    assert set(epilogs) >= {"setup", "prove", "verify", "info", "doctor", "variants", "bench", "key check"}
    for path, text in epilogs.items():
        commands = example_commands(text)
        assert commands, path
        assert all(command.startswith(f"cuzk {path}".rstrip()) for command in commands), path


@pytest.mark.parametrize("path", _epilogs())
def test_help_shows_the_examples_uncut(path: str) -> None:
    done = cuzk(*path.split(), "--help")
    assert done.code == 0
    shown = [line.strip() for line in done.out.splitlines()]
    for line in _epilogs()[path].splitlines():
        if line.startswith(("$ ", "  ")):
            assert len(line) <= _LINE_WIDTH, line
            assert line.strip() in shown, line


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the examples name, as the current one."""
    files = circuit("bls12381")
    for source, name in (
        (files.r1cs, "circuit.r1cs"),
        (files.wtns, "circuit.wtns"),
        (files.zkey, "circuit.zkey"),
        (files.vkey, "vkey.json"),
        (files.public, "public.json"),
        (files.proof, "proof.json"),
    ):
        shutil.copyfile(source, tmp_path / name)
    secrets = Secrets(tau=12345, alpha=67, beta=89)
    (tmp_path / "powers.ptau").write_bytes(ptau_bytes(get_curve("bls12_381"), 6, secrets, prepared=True))
    (tmp_path / "post.vproof").write_bytes(find_circuit("winning-post:2KiB").synthetic(b""))
    (tmp_path / "proof.bin").write_bytes(encode_proof(load_proof(files.proof)))
    for name in "ab":
        shutil.copyfile(files.public, tmp_path / f"{name}.public.json")
        shutil.copyfile(files.proof, tmp_path / f"{name}.proof.json")
    (tmp_path / "proofs.txt").write_text("a.public.json a.proof.json\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", [command for command in _EXAMPLES if not command.endswith("--help")])
def test_examples_parse(command: str) -> None:
    """Also those of commands that take minutes: options and values are real."""
    name, *words = shlex.split(command)
    assert name == "cuzk"
    parser: Any = get_command(app)
    while hasattr(parser, "commands"):
        name = words.pop(0)
        parser = parser.commands[name]
    parser.make_context(name, words)


@pytest.mark.parametrize(
    "command",
    # A PoRep takes minutes; its command line with a smaller circuit is in test_built_in.py.
    [command for command in _EXAMPLES if command.split()[1] not in _SLOW and "porep" not in command],
)
def test_examples_run(command: str, workplace: Path) -> None:
    words = shlex.split(command)
    if words[1] == "setup":
        (workplace / "vkey.json").unlink()
    elif "circuit.cuzk" in words:
        made = cuzk("setup", "circuit.r1cs", "--key", "circuit.cuzk", "--vkey", "own_vkey.json")
        assert made.code == 0, made.err
    done = cuzk(*words[1:])
    assert done.code == 0, done.err


def test_examples_survive_the_round_trip() -> None:
    text = epilog("cuzk a --b c", "cuzk d\n--e f\n--g", note="That is all.")
    assert example_commands(text) == ["cuzk a --b c", "cuzk d --e f --g"]
    assert "$ cuzk d \\\n  --e f \\\n  --g" in text


def _commands() -> dict[str, Any]:
    """Path -> command, groups too."""
    found: dict[str, Any] = {}

    def add(path: str, command: Any) -> None:
        found[path] = command
        for name, inner in getattr(command, "commands", {}).items():
            add(f"{path} {name}".strip(), inner)

    add("", get_command(app))
    return found


_GROUPS = {path for path, command in _commands().items() if hasattr(command, "commands")}
#: Its answer is the file that it writes.
_NO_REPORT = {"perf report"}


@pytest.mark.parametrize("path", _commands())
def test_help_says_all_there_is(path: str) -> None:
    """What each option is for, an example, what exit codes mean, and --json where there is something to report."""
    command = _commands()[path]
    assert command.help, path
    assert all(param.help for param in command.params if param.name != "help"), path
    shown = " ".join(cuzk(*path.split(), "--help").out.split())
    assert "$ cuzk" in shown
    assert shown.count("Exit codes: 0 ") == 1
    assert "; 2 " in shown
    if path not in _GROUPS | _NO_REPORT:
        assert "--json" in {name for param in command.params for name in param.opts}, path


@pytest.mark.parametrize("path", sorted(set(_commands()) - _GROUPS))
def test_help_says_what_exit_code_1_means_where_there_is_one(path: str) -> None:
    """A command that returns a code can return 1; doctor's is 3."""
    callback = _commands()[path].callback
    returns_code = inspect.unwrap(callback).__annotations__["return"] == "int" and path != "doctor"
    codes = " ".join((_commands()[path].epilog or "").split()).partition("Exit codes: ")[2]
    assert ("; 1 " in codes) is returns_code


@pytest.mark.parametrize("path", sorted(_GROUPS - {""}))
def test_a_group_shows_an_example_of_each_of_its_commands(path: str) -> None:
    group = _commands()[path]
    shown = cuzk(path, "--help").out.splitlines()
    for name, command in group.commands.items():
        (first, *_) = example_commands(command.epilog)
        assert f"$ {first}" in [line.strip() for line in shown], name
