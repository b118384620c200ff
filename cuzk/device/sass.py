"""Instructions of compiled kernels by class, read from the cubin itself: no disassembler is needed.

Since Volta an instruction has 16 bytes, and the lowest nine bits of the first word name the operation whatever the form
of its operands.  The table below was compared with nvdisasm 13.5 over all modules for sm_90 and sm_120: the same count
of every class.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping

from cuzk.errors import InternalError

__all__ = ["CLASSES", "count_instructions"]

#: Class -> operations. Wide multiplies carry the field arithmetic; local loads and stores are spills and stacks.
CLASSES: Mapping[str, tuple[int, ...]] = {
    "sass_imad_wide": (0x025,),
    "sass_imad": (0x024, 0x027),
    "sass_iadd": (0x010,),
    "sass_ldg": (0x181,),
    "sass_stg": (0x186,),
    "sass_lds": (0x184,),
    "sass_sts": (0x188,),
    "sass_ldl": (0x183,),
    "sass_stl": (0x187,),
    "sass_bar": (0x11D,),
    "sass_bra": (0x147,),
}
#: From sm_100 on additions of two operands have a code of their own, which older chips use for half floats.
_IADD_BLACKWELL = 0x035
_NOP = 0x118
_SIZE = 16
_TEXT = ".text."


def count_instructions(cubin: bytes, arch: str) -> dict[str, dict[str, int]]:
    """Count the instructions of every function in a cubin.

    Args:
        cubin: An ELF file for one architecture.
        arch: Compute capability without the dot, such as "90".

    Returns:
        Function -> class -> count, and "sass_instructions": all but the padding.

    Raises:
        InternalError: It is no 64-bit ELF file, or holds no code.
    """
    found = {name: _classes(code, int(arch)) for name, code in _code(cubin).items()}
    if not found:
        raise InternalError("a cubin holds no code; its format must have changed")
    return found


def _code(cubin: bytes) -> dict[str, bytes]:
    """Function -> its bytes."""
    if cubin[:5] != b"\x7fELF\x02":
        raise InternalError("a cubin is no 64-bit ELF file; its format must have changed")
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    number, names = struct.unpack_from("<HH", cubin, 0x3C)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, table + 64 * i) for i in range(number)]
    base = headers[names][4]
    code = {}
    for header in headers:
        start = base + header[0]
        name = cubin[start : cubin.index(b"\0", start)].decode(errors="replace")
        if name.startswith(_TEXT):
            code[name.removeprefix(_TEXT)] = cubin[header[4] : header[4] + header[5]]
    return code


def _classes(code: bytes, arch: int) -> dict[str, int]:
    operations = Counter(word[0] & 0x1FF for word in struct.iter_unpack(f"<H{_SIZE - 2}x", code))
    made = {name: sum(operations[op] for op in ops) for name, ops in CLASSES.items()}
    if arch >= 100:
        made["sass_iadd"] += operations[_IADD_BLACKWELL]
    return made | {"sass_instructions": operations.total() - operations[_NOP]}
