"""Damage as lists of edits: each replaces a range of bytes by others.  Everything is a function of its arguments."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import NamedTuple

from tests.corpus.samples import Sample


class Edit(NamedTuple):
    """Replace data[start:end]."""

    start: int
    end: int
    new: bytes


Damage = tuple[Edit, ...]

COUNTS = (0, 1, 1 << 31, (1 << 32) - 1)
SIZES = (0, 1, (1 << 31), (1 << 32) - 1, 1 << 63, (1 << 64) - 1)
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+|true|false|null')
_TEXTS = (*("", "-1", "+1", " 1", "01", "1e3", "0x1", "NaN", "1" * 100, "9" * 5000, "\u0661"),)
_VALUES = (
    "null",
    "true",
    "0",
    "-1",
    "1.5",
    "1e999",
    "NaN",
    "[]",
    "{}",
    "[[]]",
    '""',
    "9" * 5000,
    "[" * 300,
    '"\\ud800"',
)


def apply(data: bytes, damage: Damage) -> bytes:
    """Make the edits, from the last place to the first."""
    for edit in sorted(damage, reverse=True):
        data = data[: edit.start] + edit.new + data[edit.end :]
    return data


def _moduli(sample: Sample) -> Iterator[tuple[int, int]]:
    """(modulus, bytes) of both fields."""
    for spec in (sample.curve.fp, sample.curve.fr):
        yield spec.modulus, spec.nbytes


def _of_sections(sample: Sample) -> Iterator[Damage]:
    """Each section cut, moved, doubled, resized, renamed."""
    data, spans = sample.data, sample.sections
    count = len(spans)
    if not spans:
        return
    fewer, more = (Edit(8, 12, (count + by).to_bytes(4, "little")) for by in (-1, 1))
    for i, (start, end) in enumerate(spans):
        whole, size = data[start:end], end - start - 12
        yield (Edit(start, end, b""),)
        yield (fewer, Edit(start, end, b""))
        yield (more, Edit(end, end, whole))
        yield (Edit(end, end, whole),)
        for other_start, other_end in spans[i + 1 :]:
            yield (Edit(start, end, data[other_start:other_end]), Edit(other_start, other_end, whole))
            # Contents change places, ids stay.
            yield (
                Edit(start + 4, end, data[other_start + 4 : other_end]),
                Edit(other_start + 4, other_end, data[start + 4 : end]),
            )
        for kept in {0, 1, size // 2, max(0, size - 8), max(0, size - 1)}:
            yield (Edit(start + 4, start + 12, kept.to_bytes(8, "little")), Edit(start + 12 + kept, end, b""))
            yield (Edit(start + 12 + kept, end, b""),)
        for extra in (1, 4, 8, 32, 96):
            grown = (size + extra).to_bytes(8, "little")
            yield (Edit(start + 4, start + 12, grown), Edit(end, end, bytes(extra)))
        for value in {*SIZES, max(0, size - 1), size + 1}:
            yield (Edit(start + 4, start + 12, value.to_bytes(8, "little")),)
        for value in (*range(12), *COUNTS[2:]):
            yield (Edit(start, start + 4, value.to_bytes(4, "little")),)


def _of_places(sample: Sample) -> Iterator[Damage]:
    """Counts and field elements at every place where one may lie."""
    size = len(sample.data)
    for at in range(0, size - 3, sample.step):
        for value in COUNTS:
            yield (Edit(at, at + 4, value.to_bytes(4, "little")),)
        if sample.reader in ("params", "vk"):
            for value in COUNTS[1:3]:
                yield (Edit(at, at + 4, value.to_bytes(4, "big")),)
    orders = ("little",) if sample.step > 1 and sample.reader not in ("params", "vk") else ("big", "little")
    for modulus, width in _moduli(sample):
        for at in range(0, size - width + 1, 4 if sample.step == 1 else sample.step):
            for order in orders:
                yield (Edit(at, at + width, modulus.to_bytes(width, order)),)  # type: ignore[arg-type]
            yield (Edit(at, at + width, b"\xff" * width),)


def _of_text(sample: Sample) -> Iterator[Damage]:
    """Each value and key of a JSON text replaced, doubled, left out."""
    data = sample.data
    numbers = [str(modulus + by) for modulus, _ in _moduli(sample) for by in (-1, 0, 1)]
    for match in _TOKEN.finditer(data):
        start, end = match.span()
        old = match.group()
        for text in (*_TEXTS, *numbers):
            yield (Edit(start, end, json.dumps(text).encode()),)
        for value in (*_VALUES, *(str(count) for count in COUNTS)):
            yield (Edit(start, end, value.encode()),)
        yield (Edit(start, end, old + b"," + old),)
        yield (Edit(start, end, b""),)
        is_key = data[end : end + 1] == b":"
        if is_key:
            yield (Edit(start, start, old + b":1,"),)
            yield (Edit(start, start, b'"unknown":1,'),)


def systematic(sample: Sample) -> Iterator[Damage]:
    """All damage that is not left to chance."""
    size = len(sample.data)
    yield ()
    if sample.is_text:
        yield from _of_text(sample)
    else:
        yield from _of_sections(sample)
        yield from _of_places(sample)
    stride = 1 if size <= 4096 else max(1, sample.step // 4)
    for cut in range(0, size, stride):
        yield (Edit(cut, size, b""),)
    for tail in (b"\0", b"\n", b"x", bytes(48), sample.data):
        yield (Edit(size, size, tail),)
        yield (Edit(0, 0, tail),)


def at_random(sample: Sample, rng: random.Random) -> Damage:
    """One to four edits: bits, bytes, runs, numbers and moduli, copies of other places."""
    data, edits = sample.data, []
    size = len(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(size)
        match rng.randrange(8):
            case 0 | 1:
                edits.append(Edit(at, at + 1, bytes([data[at] ^ 1 << rng.randrange(8)])))
            case 2:
                edits.append(Edit(at, at + 1, rng.randbytes(1)))
            case 3:
                edits.append(Edit(at, min(size, at + rng.choice((1, 4, 8, 32, 48, 200))), b""))
            case 4:
                other, length = rng.randrange(size), rng.choice((1, 4, 12, 32, 48, 96, 192))
                over = length if rng.random() < 0.6 else 0
                edits.append(Edit(at, min(size, at + over), data[other : other + length]))
            case 5:
                value = rng.choice((*COUNTS, rng.randrange(16), rng.randrange(1 << 32)))
                edits.append(Edit(at, at + 4, value.to_bytes(4, rng.choice(("little", "little", "big")))))
            case 6:
                modulus, width = rng.choice(list(_moduli(sample)))
                value = min(modulus + rng.choice((-1, 0, 1)), (1 << 8 * width) - 1)
                edits.append(Edit(at, at + width, value.to_bytes(width, "little")))
            case _:
                edits.append(Edit(at, at, rng.randbytes(rng.choice((1, 4, 32)))))
    return tuple(edits)
