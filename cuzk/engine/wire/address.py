"""Addresses as both ends of the wire take them."""

from __future__ import annotations

from cuzk.errors import InputError

__all__ = ["check_address", "split_address"]

_MAX_PORT = 65535


def check_address(text: str, where: str = "address") -> None:
    """Refuse what is neither HOST:PORT nor unix:PATH; gRPC takes other ports than were asked for instead.

    Raises:
        InputError: It is not.
    """
    host, colon, port = text.rpartition(":")
    if text.startswith("unix:"):
        is_good = len(text) > len("unix:")
    else:
        number = int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else -1
        is_good = bool(colon and host) and 0 <= number <= _MAX_PORT and not any(map(str.isspace, text))
    if not is_good:
        raise InputError(
            f"{text!r:.80} is no address",
            where=where,
            limit=f"HOST:PORT with a port up to {_MAX_PORT}, or unix:PATH",
            remedy="write for example 127.0.0.1:9820 or unix:/run/cuzk.sock",
        )


def split_address(text: str) -> tuple[str, int]:
    """Host and port of a HOST:PORT that check_address has let through.

    >>> split_address("[::1]:9820")
    ('::1', 9820)
    """
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)
