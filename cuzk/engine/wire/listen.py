"""Whether an address is free to listen on.

Looked at before gRPC takes it: gRPC deletes the socket file of whoever listens there, and tells of a taken port in a
line of its own.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
from pathlib import Path

from cuzk.engine.wire.address import split_address
from cuzk.errors import InputError

__all__ = ["check_free"]

_UNIX = "unix:"
_TAKEN = "is taken"
#: What the kernel takes as the name of a socket, without its end.
_MAX_SOCKET_PATH = 107
#: A socket whose owner does not even accept within this is not a dead one's.
_CONNECT_S = 5.0


def check_free(listen: str, where: str) -> None:
    """Refuse an address that cannot be listened on; a socket file that a killed program has left is free.

    Args:
        listen: As check_address has let it through.
        where: The setting, which is also the command's option.

    Raises:
        InputError: Somebody listens there, or nobody can.
    """
    if listen.startswith(_UNIX):
        path = listen.removeprefix(_UNIX)
        why = _why_no_socket(Path("/" + path.lstrip("/")) if path.startswith("//") else Path(path))
    else:
        why = _why_no_port(*split_address(listen))
    if why:
        option = "--" + where.replace("_", "-")
        is_taken = why == _TAKEN
        raise InputError(
            f"{listen} {_TAKEN}" if is_taken else f"cannot listen on {listen}: {why}",
            where=where,
            remedy=("end the program that listens there, or " if is_taken else "")
            + f"choose another address with {option}",
        )


def _why_no_port(host: str, port: int) -> str:
    """Nothing where one of a name's addresses can be had, and none is taken: a machine may lack IPv6."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        return error.strerror or str(error)
    whys = []
    for family, kind, protocol, _, address in found:
        try:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gRPC's own
                probe.bind(address)
                probe.listen()  # two that only bind may share a port; one that listens has it alone
                whys.append("")
        except OSError as error:
            whys.append(_TAKEN if error.errno == errno.EADDRINUSE else error.strerror or str(error))
    return _TAKEN if _TAKEN in whys else "" if "" in whys else whys[0]


def _why_no_socket(path: Path) -> str:
    if len(os.fsencode(path)) > _MAX_SOCKET_PATH:
        return f"the path is too long for a socket, {_MAX_SOCKET_PATH} bytes at most"
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "" if path.parent.is_dir() else f"there is no folder {path.parent}"
    except OSError as error:
        return error.strerror or str(error)
    if not stat.S_ISSOCK(mode):
        return "the file there is no socket"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_CONNECT_S)
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            return ""  # left by one that is gone
        except TimeoutError:
            return _TAKEN
        except OSError as error:
            return error.strerror or str(error)
    return _TAKEN
