"""Corpus folders: batches as bytes, each under its hash, kept if they show something that no other does."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from cuzk_fuzz.batch import Batch
from cuzk_fuzz.engine import Campaign


def files_of(folder: Path) -> list[Path]:
    """The batches of a folder, in the order of their names; none where there is no folder."""
    return sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []


def save(folder: Path, data: bytes) -> bool:
    """Keep a batch's bytes under their hash; return whether they were not there before."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / hashlib.sha256(data).hexdigest()[:16]
    if path.exists():
        return False
    path.write_bytes(data)
    return True


def run(campaign: Campaign, folder: Path) -> int:
    """Run every batch of a folder; return how many there were."""
    files = files_of(folder)
    for path in files:
        if campaign.is_over:
            break
        campaign.run_bytes(path.read_bytes())
    return len(files)


def features(batch: Batch) -> frozenset[tuple[str, str, str]]:
    """What a batch shows: each of its edge classes with its subject and operation."""
    return frozenset((batch.subject, batch.op, edge_id) for edge_id in batch.classes())


def smallest(campaign: Campaign, sources: Iterable[bytes]) -> Iterator[bytes]:
    """Those batches, shortest first, that show something which the ones before them don't."""
    seen: set[tuple[str, str, str]] = set()
    for data in sorted(set(sources), key=lambda data: (len(data), data)):
        shown = features(campaign.decode(data))
        if not shown <= seen:
            seen |= shown
            yield data
