"""A deeply nested JSON file killed the process where a library had raised Python's recursion limit.

The parser relied on RecursionError; py_ecc, imported beside cuzk, sets the limit to 100,000, and the C stack ends
before that.  The depth is checked before parsing now.
"""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from cuzk.errors import FormatError
from cuzk.formats.strict_json import parse_json


def test_depth_is_refused_whatever_the_recursion_limit_is() -> None:
    code = (
        "import sys; sys.setrecursionlimit(1_000_000)\n"
        "from cuzk.errors import FormatError\n"
        "from cuzk.formats.strict_json import parse_json\n"
        "try: parse_json(b'[' * 500_000)\n"
        "except FormatError as error: print(error.what)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "nested too deeply\n"), done.stderr


def test_brackets_in_strings_do_not_nest() -> None:
    text = b'["' + b"[" * 100 + b'", "' + b"{" * 100 + b'"]'
    assert parse_json(text) == ["[" * 100, "{" * 100]
    assert parse_json(b"[" * 64 + b"]" * 64)
    for fill in (1 << 16, (1 << 16) - 1, (1 << 16) - 100):  # where the text is looked at in pieces
        assert parse_json(b'["' + b"[" * fill + b'"]') == ["[" * fill]
        with pytest.raises(FormatError, match="nested too deeply"):
            parse_json(b'["' + b"x" * fill + b'",' + b"[" * 64 + b"]" * 65)


@pytest.mark.parametrize(
    "text", [b'["' + b'""' * 500_000, b'"' * 500_001, b'["', b"[" + b"[]," * 500_000, b"1 " * 500_000]
)
def test_text_that_does_not_end_costs_linear_time(text: bytes) -> None:
    started = time.process_time()
    with pytest.raises(FormatError, match=r"not JSON|no JSON object or list|small values"):
        parse_json(text)
    assert time.process_time() - started < 5  # quadratic time would take hours
