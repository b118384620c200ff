"""A proving key on a device: uploaded once, used by every proof."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cuzk.curves import Curve, GroupSpec
from cuzk.device.base import Array, Device
from cuzk.keys import ProvingKey
from cuzk.limbs import U64Array
from cuzk.ops.domain import Domain
from cuzk.ops.spmv import DeviceMatrix

__all__ = ["Query", "ResidentKey"]


@dataclass(frozen=True, eq=False)
class Query:
    """The bases of one multi-scalar multiplication of a proof.

    Args:
        name: "a", "b_g1", "b_g2", "l" or "h".
        group: The bases' group.
        bases: Shape (m, *affine_shape) uint64, on the device. Form: Montgomery; infinity is all zero.
        skip: Shape (m,) uint8, on the device: 1 where the base is infinity; None where none is.
        first: Index of the scalar that belongs to bases[0] (the L query starts behind the public variables).
    """

    name: str
    group: GroupSpec
    bases: Array
    skip: Array | None
    first: int = 0


@dataclass(frozen=True, eq=False)
class ResidentKey:
    """What the phases of a proof read, all of it on the device.

    Args:
        key: The key this was uploaded from.
        device: Where.
        domain: The evaluation domain of the key's rows.
        a: Matrix A with its binding rows.
        b: Matrix B.
        c: Matrix C, None where the key does not have it.
        queries: The five queries by name.
    """

    key: ProvingKey
    device: Device
    domain: Domain
    a: DeviceMatrix
    b: DeviceMatrix
    c: DeviceMatrix | None
    queries: dict[str, Query]

    @property
    def curve(self) -> Curve:
        """The key's curve."""
        return self.key.curve

    @classmethod
    def upload(cls, device: Device, key: ProvingKey) -> ResidentKey:
        """Upload a key.

        Args:
            device: Where to.
            key: Checked for shapes; points on the curve are the loader's business.

        Raises:
            OutOfMemoryError: The key does not fit.
        """
        g1, g2 = key.curve.g1, key.curve.g2
        masks = _Masks(device)
        queries = {
            "a": _query(masks, "a", g1, key.a_query),
            "b_g1": _query(masks, "b_g1", g1, key.b_g1_query),
            "b_g2": _query(masks, "b_g2", g2, key.b_g2_query),
            "l": _query(masks, "l", g1, key.l_query, key.num_public + 1),
            "h": _query(masks, "h", g1, key.h_query),
        }
        return cls(
            key=key,
            device=device,
            domain=Domain(key.curve, key.log_domain, key.root_convention),
            a=DeviceMatrix.upload(device, key.a),
            b=DeviceMatrix.upload(device, key.b),
            c=None if key.c is None else DeviceMatrix.upload(device, key.c),
            queries=queries,
        )


class _Masks:
    """Uploads masks of infinite bases; equal masks become one array (B has one in G1 and G2)."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._known: dict[bytes, Array] = {}

    def upload(self, bases: U64Array) -> Array | None:
        infinite = np.asarray(~bases.reshape(len(bases), -1).any(axis=1)) if len(bases) else np.zeros(0, bool)
        if not infinite.any():
            return None
        content = infinite.tobytes()
        if content not in self._known:
            self._known[content] = self.device.upload(infinite.astype(np.uint8))
        return self._known[content]


def _query(masks: _Masks, name: str, group: GroupSpec, bases: U64Array, first: int = 0) -> Query:
    return Query(name, group, masks.device.upload(bases), masks.upload(bases), first)
