"""docs/daemon.md: its configuration is the default one, its commands and names are real."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

from typer.main import get_command

from cuzk.cli.app import make_app
from cuzk.engine.config import DaemonConfig, parse_config

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "daemon.md").read_text("utf-8")


def fenced(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_configuration_is_the_default_with_places_filled_in() -> None:
    (text,) = fenced("toml")
    shown = parse_config(text)
    default = DaemonConfig()
    assert shown.queue == default.queue
    assert shown.pipeline == default.pipeline
    assert shown.memory == default.memory
    assert shown.security == default.security
    assert (shown.listen, shown.status_listen) == (default.listen, default.status_listen)


def test_commands_parse() -> None:
    commands = [
        line[2:] for block in fenced("text") for line in block.splitlines() if line.startswith("$ cuzk")
    ]
    assert len(commands) >= 4
    app: Any = get_command(make_app())
    for command in commands:
        name, *words = shlex.split(command)[1:]
        app.commands[name].make_context(name, words)


def test_python_compiles() -> None:
    for block in fenced("python"):
        compile(block, "daemon.md", "exec")
