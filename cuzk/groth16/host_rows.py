"""Where a, b and c are between synthesis and quotient: what the variant B1 chooses.

``resident``: on the device, where they were made.  The others move them through the host's memory, as provers do whose
synthesis runs there: ``pageable`` as it comes, ``register`` page-locked for each proof, ``pool`` in page-locked buffers
that are kept from proof to proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk.device.base import Device
from cuzk.groth16.resident import ResidentKey, Rows
from cuzk.telemetry import Recorder

__all__ = ["HostRows", "RowPool"]

_HostArray = npt.NDArray[Any]


class RowPool:
    """Page-locked buffers for a, b and c, kept from proof to proof."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._free: list[_HostArray] = []

    def take(self, shape: tuple[int, ...]) -> tuple[_HostArray, bool]:
        """A buffer, and whether it was used before."""
        if self._free:
            return self._free.pop(), True
        return self._device.pinned(shape), False

    def give_back(self, buffer: _HostArray) -> None:
        """Keep a buffer for the next proof.  No copy from it may be on its way."""
        self._free.append(buffer)


class HostRows:
    """The rows' values of some circuits on their way from synthesis to the quotient.

    Args:
        resident: The key.
        variants: Every variant's value; B1 acts here.
        recorder: Where the phases ``pin_abc``, ``rows_down`` and ``unpin`` are booked.
        pool: Of the prover.
        circuits: How many there are.
    """

    def __init__(
        self,
        resident: ResidentKey,
        variants: Mapping[str, str],
        recorder: Recorder,
        pool: RowPool,
        circuits: int,
    ) -> None:
        self._device, self._recorder, self._pool = resident.device, recorder, pool
        self._circuits, self.setting = circuits, variants["B1"]
        self._shape = (3, resident.domain.size, resident.curve.fr.limbs)
        self._apart = resident.plan.rows_apart
        self._buffers: list[_HostArray] = []
        self._rows: list[Any] = []  # Rows, or arrays of the host
        self._locks = ExitStack()

    @property
    def _tags(self) -> dict[str, Any]:
        bytes_each = int(np.prod(self._shape)) * 8
        return {"B1": self.setting, "num_circuits": self._circuits, "abc_bytes_each": bytes_each}

    def begin(self) -> None:
        """Before synthesis: take buffers from the pool."""
        if self.setting == "pool":
            with self._recorder.phase("pin_abc", **self._tags) as span:
                taken = [self._pool.take(self._shape) for _ in range(self._circuits)]
                self._buffers = [buffer for buffer, _ in taken]
                span.tag(recycled=sum(was_used for _, was_used in taken))

    def keep(self, abc: Rows) -> None:
        """In synthesis: take a circuit's rows, in order; those that do not stay leave the device."""
        if self.setting == "resident":
            self._rows.append(abc)
            return
        with self._recorder.phase("rows_down", B1=self.setting):
            if self.setting != "pool" and not isinstance(abc, list):
                self._rows.append(self._device.download(abc))
                return
            into = (
                self._buffers[len(self._rows)] if self.setting == "pool" else np.empty(self._shape, np.uint64)
            )
            for i in range(3):
                into[i] = self._device.download(abc[i])
            self._rows.append(into)

    def lock(self) -> None:
        """After synthesis: page-lock what is to be copied up."""
        if self.setting == "register":
            with self._recorder.phase("pin_abc", **self._tags) as span:
                locked = [self._locks.enter_context(self._device.lock_pages(rows)) for rows in self._rows]
                span.tag(locked=sum(locked))

    def take(self) -> Rows:
        """The next circuit's rows, on the device; its quotient may overwrite them."""
        rows = self._rows.pop(0)
        if self.setting == "resident":
            return rows
        if self.setting == "register":
            self._buffers.append(rows)  # it is locked until the end
        return [self._device.upload(rows[i]) for i in range(3)] if self._apart else self._device.upload(rows)

    def end(self) -> list[Any]:
        """Unlock, or give back to the pool, once no copy is on its way.

        Returns:
            Host arrays that nobody needs any more.
        """
        if self.setting not in ("register", "pool"):
            return []
        with self._recorder.phase("unpin", **self._tags):
            self._locks.close()
            buffers, self._buffers = self._buffers, []
            if self.setting == "register":
                return buffers
            for buffer in buffers:
                self._pool.give_back(buffer)
        return []

    def abandon(self) -> None:
        """After an error: let go of everything."""
        self._locks.close()
        self._buffers.clear()
        self._rows.clear()
