"""Launch shapes of sums of points by key (cuzk/ops/sums.py): functions of sizes and device limits."""

from __future__ import annotations

from dataclasses import dataclass

from cuzk.curves import GroupSpec
from cuzk.device.base import DeviceLimits

__all__ = [
    "MADD",
    "PAIR",
    "SumsPlan",
    "addition_lanes",
    "places_left",
    "plan_sums",
    "slot_bytes",
    "sums_cost",
]

#: Base field multiplications of adding an affine point to an XYZZ point, and of an affine addition with its share of
#: the inversion.
MADD, PAIR = 10, 7
#: Threads a multiprocessor holds in the addition loops (ADDITION_BLOCKS_PER_SM of the kernels): registers allow
#: no more, and Fp2 needs all of them.
_LANES_PER_SM = {1: 512, 2: 256}
_POINT_BLOCK = 128
#: Pairs that share an inversion, which costs about as much as 5 pairs on a GPU and 15 on a core.
_GPU_CHUNK, _HOST_CHUNK = 128, 256
#: Fewest pairs a lane that are worth a round's launches and inversions.
_GPU_MIN_PAIRS = 12


@dataclass(frozen=True)
class SumsPlan:
    """How points are added up by key.

    Attributes:
        places: Most points of all keys.
        num_keys: Most keys.
        rounds: Rounds of affine additions of neighbours before the rest is added up in XYZZ form.
        pair_grid, pair_block, chunk: Shape of such a round, and pairs of a thread that share an inversion.
        num_segments: Most pieces that what is left is cut into, one a thread.
        min_segment: Fewest points of a piece.
        point_block: Threads in a block that adds up pieces.
        merge_fan_in: Pieces joined by one block of msm_merge; a power of two.
    """

    places: int
    num_keys: int
    rounds: int
    pair_grid: int
    pair_block: int
    chunk: int
    num_segments: int
    min_segment: int
    point_block: int
    merge_fan_in: int

    def left(self, rounds: int) -> int:
        """Most points left after some rounds."""
        return places_left(self.places, self.num_keys, rounds)


def places_left(places: int, num_keys: int, rounds: int) -> int:
    """Most points left of `places` after some rounds: of an odd number, one stays alone."""
    for _ in range(rounds):
        places = min(places, (places + min(places, num_keys)) // 2)
    return places


def addition_lanes(group: GroupSpec, limits: DeviceLimits) -> int:
    """Threads that add points side by side."""
    return limits.num_sms * (_LANES_PER_SM[group.degree] if limits.gpu_like else 1)


def _rounds(places: int, num_keys: int, lanes: int, *, gpu_like: bool) -> int:
    """Rounds worth taking: while keys have three points or more on average, and every lane enough pairs."""
    rounds = 0
    while gpu_like and places >> rounds >= 3 * num_keys and places >> (rounds + 1) >= _GPU_MIN_PAIRS * lanes:
        rounds += 1
    return rounds


def sums_cost(places: int, num_keys: int, group: GroupSpec, limits: DeviceLimits) -> float:
    """Estimated base field multiplications of one lane, the lanes working side by side."""
    lanes = addition_lanes(group, limits)
    rounds = _rounds(places, num_keys, lanes, gpu_like=limits.gpu_like)
    left = [places_left(places, num_keys, r) for r in range(rounds + 1)]
    filled = min(left[-1], num_keys)  # the first point of a key is copied
    borders = (2 * lanes.bit_length() * 14) if limits.gpu_like else 0
    return (PAIR * sum(left[1:]) + MADD * (left[-1] - filled / 2)) / lanes + borders


def plan_sums(
    places: int,
    num_keys: int,
    group: GroupSpec,
    limits: DeviceLimits,
    *,
    rounds: int | None = None,
    chunk: int | None = None,
    num_segments: int | None = None,
    min_segment: int | None = None,
) -> SumsPlan:
    """Cut the sums of `places` points by `num_keys` keys.

    Args:
        places: Points, >= 1.
        num_keys: Keys, >= 1.
        group: The points' group.
        limits: The device.
        rounds: Rounds of affine additions; as many as pay where None. None pay on a core: a round reads and writes
            more memory than its saved multiplications are worth (docs/performance.md).
        chunk: Pairs that share an inversion.
        num_segments: Most pieces; one or two a lane where None.
        min_segment: Fewest points of a piece.
    """
    lanes = addition_lanes(group, limits)
    if rounds is None:
        rounds = _rounds(places, num_keys, lanes, gpu_like=limits.gpu_like)
    left = places_left(places, num_keys, rounds)
    if limits.gpu_like:
        block = min(_POINT_BLOCK, limits.max_threads)
        pair_block = block
        while pair_block > limits.warp and pair_block * slot_bytes(group) > limits.shared_bytes:
            pair_block //= 2
        pieces = max(1, min(left, (2 if left >= 256 * lanes else 1) * lanes))
        return SumsPlan(
            places=places, num_keys=num_keys, rounds=rounds,
            pair_grid=max(1, lanes // pair_block), pair_block=pair_block, chunk=chunk or _GPU_CHUNK,
            num_segments=num_segments or pieces, min_segment=min_segment or 4, point_block=block,
            merge_fan_in=2 * block,
        )  # fmt: skip
    pieces = num_segments or 8 * limits.num_sms
    return SumsPlan(
        places=places, num_keys=num_keys, rounds=rounds,
        pair_grid=4 * limits.num_sms, pair_block=1, chunk=chunk or _HOST_CHUNK,
        num_segments=pieces, min_segment=min_segment or 64, point_block=1,
        merge_fan_in=max(2, 1 << (pieces - 1).bit_length()),
    )  # fmt: skip


def slot_bytes(group: GroupSpec) -> int:
    """Shared memory of a thread of msm_halve: two affine points and a coordinate."""
    return 2 * group.affine_bytes + group.affine_bytes // 2
