"""What people type: each of it is refused by name before anything is written or connected."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuzk.engine.client import EngineClient
from cuzk.engine.config import DaemonConfig
from cuzk.engine.key_files import KeyFiles
from cuzk.engine.service import check_exposure
from cuzk.errors import InputError
from tests.cli.support import DATA, assert_refused, cuzk

WITNESS = DATA / "bn128" / "product" / "product.wtns"


@pytest.mark.parametrize(
    "address",
    ["nonsense", "127.0.0.1:99999", "127.0.0.1:", ":1", "a b:1", "127.0.0.1:-1", "unix:", "", "h:1.5"],
)
def test_an_address_is_checked_at_both_ends(address: str) -> None:
    """A port beyond 65535 is another one to the library: the daemon would listen where nobody looks."""
    with pytest.raises(InputError, match="is no address"):
        EngineClient(address)
    with pytest.raises(InputError, match="is no address"):
        check_exposure(address, DaemonConfig())


def test_a_proof_does_not_replace_what_it_is_made_from(tmp_path: Path) -> None:
    witness = tmp_path / "w.wtns"
    witness.write_bytes(WITNESS.read_bytes())
    refused = cuzk("submit", "c", "--witness", witness, "--proof-bytes", witness, "--address", "127.0.0.1:1")
    assert_refused(refused, 2, "--proof-bytes")
    assert witness.read_bytes() == WITNESS.read_bytes()


@pytest.mark.parametrize("timeout", ["-5", "nan", "1e300", "inf"])
def test_a_timeout_is_a_time(timeout: str) -> None:
    assert_refused(
        cuzk("await", "job", "--timeout", timeout, "--address", "127.0.0.1:1"), 2, "--timeout", "0 (never)"
    )


def test_a_file_without_a_certificate_is_named() -> None:
    with pytest.raises(InputError, match=r"product.wtns: the file holds no certificate"):
        EngineClient("127.0.0.1:1", certificate=WITNESS)


@pytest.mark.parametrize("name", ["", "../../etc", ".hidden", "/abs"])
def test_a_path_is_no_circuit(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no name of a circuit"):
        KeyFiles(str(tmp_path), {}).find(name)


def test_devices_that_a_cluster_would_not_use_are_refused() -> None:
    refused = cuzk("daemon", "--ray", "127.0.0.1:1", "--device", "cpu", "--state", "none")
    assert_refused(refused, 2, "--ray with the devices cpu", "leave out --device")
