"""Whether an address is free to listen on.

Looked at before gRPC takes it: gRPC deletes the socket file of whoever listens there, and tells of a taken port in a
line of its own. Of two daemons that find nobody behind a socket's file at once, the lock beside it lets one go on.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
from pathlib import Path

from cuzk.engine.wire.address import split_address
from cuzk.errors import InputError

__all__ = ["SocketLock", "check_free", "socket_lock"]

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
    path = _socket_path(listen)
    why = _why_no_port(*split_address(listen)) if path is None else _why_no_socket(path)
    if why:
        raise _refusal(listen, where, why)


def _socket_path(listen: str) -> Path | None:
    """The file of a socket; None for a port."""
    if not listen.startswith(_UNIX):
        return None
    path = listen.removeprefix(_UNIX)
    return Path("/" + path.lstrip("/")) if path.startswith("//") else Path(path)


def _refusal(listen: str, where: str, why: str) -> InputError:
    is_taken = why == _TAKEN
    return InputError(
        f"{listen} {_TAKEN}" if is_taken else f"cannot listen on {listen}: {why}",
        where=where,
        remedy=("end the program that listens there, or " if is_taken else "")
        + f"choose another address with --{where.replace('_', '-')}",
    )


class SocketLock:
    """What one daemon alone can have of a socket, until it is closed or its process is gone.

    Args:
        path: The lock's file; None where there is nothing to lock.
        descriptor: Of the locked file.
    """

    def __init__(self, path: Path | None = None, descriptor: int = -1) -> None:
        self._path, self._descriptor = path, descriptor

    def close(self) -> None:
        """Let it go, and remove its file while nobody else can have it."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._path = None


def socket_lock(listen: str, where: str = "listen") -> SocketLock:
    """Lock a socket's file by another one beside it, PATH.lock; a port needs no lock.

    Args:
        listen: As check_free has let it through. Look again once it is locked.
        where: The setting, which is also the command's option.

    Raises:
        InputError: Another daemon has the lock, or the file cannot be made.
    """
    socket_file = _socket_path(listen)
    if socket_file is None:
        return SocketLock()
    path = socket_file.with_name(socket_file.name + ".lock")
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise _refusal(listen, where, f"{error.strerror} ({path})") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_there = _is_at(path, descriptor)
        except OSError as error:
            os.close(descriptor)
            is_taken = error.errno == errno.EWOULDBLOCK
            raise _refusal(listen, where, _TAKEN if is_taken else f"{error.strerror} ({path})") from error
        if is_there:
            return SocketLock(path, descriptor)
        os.close(
            descriptor
        )  # its holder removed it between the two steps: what is locked now, nobody else would find


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether a path still names an open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


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
