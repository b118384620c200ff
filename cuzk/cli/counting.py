"""How far a timed loop is: nothing may run beside what is measured, so there is no bar and no thread."""

from __future__ import annotations

import time
from collections.abc import Callable

from cuzk.cli import progress
from cuzk.cli.output import note

__all__ = ["count_lines"]


def count_lines(
    words: str, total: int, *, clock: Callable[[], int] = time.perf_counter_ns
) -> Callable[[int], None]:
    """Lines on stderr with how many are done and the time left, one every ten seconds.

    Args:
        words: What is counted.
        total: How many there will be.
        clock: Monotonic clock in nanoseconds.

    Returns:
        What to call with how many are done.
    """
    began_ns = last_ns = clock()

    def tell(done: int) -> None:
        nonlocal last_ns
        now_ns = clock()
        if done < total and now_ns - last_ns > progress._LINE_EVERY_S * 1e9:
            last_ns = now_ns
            left_s = (now_ns - began_ns) / 1e9 / done * (total - done)
            note(f"  {words}: {done} of {total} ({progress.left_words(left_s)})")

    return tell
