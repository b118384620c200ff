"""``cuzk prove --memory-limit``.

Would catch: a limit that is parsed and then forgotten, a size that is read as another, a failure that does not say how
much would do.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cuzk.cli.options import parse_bytes
from cuzk.errors import InputError
from tests.cli.support import circuit, entries, prove, read_json

GOLDEN = ("--insecure-blinding", "7,0xb", "--device", "cpu")


@pytest.mark.parametrize("limit", ["1.5 MiB", "4GiB"])
def test_the_same_proof_in_less_memory(limit: str, tmp_path: Path) -> None:
    files = circuit("bn128", "mimc_chain")
    assert prove(files, tmp_path, *GOLDEN).code == 0
    want = read_json(tmp_path / "proof.json")
    (tmp_path / "proof.json").unlink()
    done = prove(files, tmp_path, *GOLDEN, "--memory-limit", limit)
    assert done.code == 0, done.err
    assert read_json(tmp_path / "proof.json") == want


def test_too_little_is_an_error_that_says_what_would_do(tmp_path: Path) -> None:
    done = prove(circuit("bn128", "mimc_chain"), tmp_path, *GOLDEN, "--memory-limit", "8KiB")
    assert done.code == 3
    assert "8.00 KiB" in done.err or "8192" in done.err
    assert entries(tmp_path) == set()


def test_what_is_no_size_is_refused(tmp_path: Path) -> None:
    done = prove(circuit("bn128"), tmp_path, "--memory-limit", "lots")
    assert done.code == 2
    assert "--memory-limit" in done.err
    assert "4GiB" in done.err


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("1000000", 10**6),
        ("4GiB", 4 << 30),
        ("1.5 mib", 3 << 19),
        ("2 GB", 2 * 10**9),
        ("3kb", 3000),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_bytes(text, "--memory-limit") == size


@pytest.mark.parametrize("text", ["", "0", "-1GiB", "GiB", "4 TiB x", "1e9", "0.1", "4G", "٤GiB", "9" * 40])
def test_no_sizes(text: str) -> None:
    with pytest.raises(InputError, match="no size of memory"):
        parse_bytes(text, "--memory-limit")
