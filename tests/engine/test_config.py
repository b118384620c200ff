"""The daemon's configuration: a key that is ignored, or a value taken for another, would show here."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuzk.engine.config import DaemonConfig, load_config, parse_config
from cuzk.errors import InputError

WHOLE = """
listen = "0.0.0.0:9820"
request_timeout_s = 60
log_level = "debug"
[queue]
max_jobs = 7
ageing_s = 1.5
[pipeline]
devices = ["cuda:0", "cpu"]
overlap = false
batch = 4
[keys]
folder = "keys"
files = { "porep:32GiB" = "/srv/porep.params" }
preload = ["winning-post:32GiB"]
[security]
token_file = "token"
"""


def test_every_kind_of_value(tmp_path: Path) -> None:
    path = tmp_path / "cuzk.toml"
    path.write_text(WHOLE)
    config = load_config(path)
    assert (config.listen, config.request_timeout_s, config.log_level) == ("0.0.0.0:9820", 60.0, "debug")
    assert (config.queue.max_jobs, config.queue.ageing_s) == (7, 1.5)
    assert config.pipeline.devices == ("cuda:0", "cpu")
    assert (config.pipeline.overlap, config.pipeline.batch, config.pipeline.split) == (False, 4, True)
    assert dict(config.keys.files) == {"porep:32GiB": "/srv/porep.params"}
    assert config.keys.preload == ("winning-post:32GiB",)
    assert config.security.token_file == "token"


def test_an_empty_file_is_the_default() -> None:
    assert parse_config("") == DaemonConfig()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("listne = 'x'", "unknown key listne.*did you mean listen"),
        ("[pipelines]", "unknown key pipelines"),
        ("[pipeline]\npartition_workers = 5", "unknown key pipeline.partition_workers.*known: batch"),
        ("queue = 5", "queue is no table"),
        ("[queue]\nmax_jobs = 0", "queue.max_jobs is 0.*1 to"),
        ("[queue]\nmax_jobs = true", "queue.max_jobs is not a whole number"),
        ("[queue]\nmax_jobs = 1.0", "queue.max_jobs is not a whole number"),
        ("[queue]\nageing_s = nan", "queue.ageing_s is nan"),
        ("[queue]\nageing_s = 'x'", "queue.ageing_s is not a number"),
        ("[pipeline]\noverlap = 1", "pipeline.overlap is not true or false"),
        ("[pipeline]\ndevices = 'cpu'", "pipeline.devices is not a list of texts"),
        ("[keys]\nfiles = { a = 1 }", "keys.files is not a table of texts"),
        ("log_level = 'loud'", "log_level is 'loud'"),
        ("[security]\ntls_key = 'k.pem'", "TLS needs both"),
        ("max_message_bytes = 2147483648", "max_message_bytes is 2147483648"),
        ("state_folder = ''", "state_folder is empty"),
        ("listen = ''", "listen is empty"),
        ("[pipeline]\ndevices = []", "pipeline.devices is empty"),
        ("[keys]\npreload = ['a', '']", "keys.preload: '' is no name of a circuit"),
        ("[keys]\nfiles = { '../a' = 'a.cuzk', \"b\\nc\" = 'd' }", "keys.files: 'b.nc' is no name"),
        ("[pipeline]\noverlap = false\nlookahead = 2", "pipeline.lookahead = 2 means nothing.*overlap"),
        ("[pipeline]\nbatch = 4\nby_partition = false", "pipeline.batch = 4 means nothing.*by_partition"),
        ("[security]\ntls_certificate = 'c'\ntls_key = 'k'\n[keys]\nfolders = 'x'", "did you mean keys.folder"),
        ("listen = ", "not TOML"),
        ("a = " + "[" * 5000, "not TOML"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_config(text)


@pytest.mark.parametrize(
    "text",
    [
        "[pipeline]\noverlap = false", "[pipeline]\noverlap = false\nlookahead = 0", "[pipeline]\nlookahead = 2",
        "[pipeline]\nby_partition = false\nbatch = 1", "max_message_bytes = 2147483647",
        "[keys]\nfiles = { 'por:x:1' = 'a.cuzk' }",
    ],
)  # fmt: skip
def test_what_means_something_is_taken(text: str) -> None:
    assert parse_config(text) != DaemonConfig() or "batch = 1" in text


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_config(tmp_path / "none.toml")
    path = tmp_path / "latin.toml"
    path.write_bytes(b"listen = '\xff'")
    with pytest.raises(InputError, match="cannot be read"):
        load_config(path)
    path.write_bytes(b"#" * (1 << 21))
    with pytest.raises(InputError, match="too large"):
        load_config(path)
