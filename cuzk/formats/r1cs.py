"""Read and write circom's .r1cs files, version 1.

Section 1 is the header, 2 the constraints (per linear combination a count, then wire and coefficient in standard
form), 3 the compiler's label of each wire. Files with custom gates (4 and 5) are refused: Groth16 has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuzk.csr import CsrMatrix, csr_from_indexed, intern_values
from cuzk.curves import Curve, curve_of_fr
from cuzk.errors import CurveMismatchError
from cuzk.formats.atomic import PathLike, atomic_write
from cuzk.formats.container import Container, SectionReader, naming_file, read_container, write_container
from cuzk.limbs import U64Array, field_from_limbs, field_to_ints, first_not_below, ints_to_limbs
from cuzk.relation import R1CS

MAGIC, VERSION = b"r1cs", 1
_CUSTOM_GATE_SECTIONS = frozenset({4, 5})
_BLOCK = 3 << 16  # linear combinations parsed at once


@dataclass(frozen=True)
class R1csHeader:
    """Section 1, in the order of the file."""

    curve: Curve
    num_wires: int
    num_outputs: int
    num_public_inputs: int
    num_private_inputs: int
    num_labels: int
    num_constraints: int


def load_r1cs(path: PathLike) -> R1CS:
    """Read a circuit.

    Args:
        path: A .r1cs file.

    Raises:
        FormatError: The file does not parse, a wire or coefficient is out of bounds, or custom gates are
            used.
        CurveMismatchError: The prime belongs to no curve of cuzk.
        ShapeError: The numbers of public, private and all wires contradict each other.

    Cost: one pass of cheap Python steps over the linear combinations, everything else vectorised.
    """
    with naming_file(path):
        return _load(read_container(path, MAGIC, VERSION, frozenset({1, 2, 3}) | _CUSTOM_GATE_SECTIONS))


def _load(container: Container) -> R1CS:
    header = read_header(container)
    for section_id in _CUSTOM_GATE_SECTIONS & container.spans.keys():
        reader = container.section(section_id)
        if reader.left > 4 or (reader.left == 4 and reader.u32("count") != 0):
            raise reader.error(
                "the circuit uses custom gates, which Groth16 does not have",
                limit="no custom gates",
                remedy="compile without `pragma custom_templates`",
            )
    return R1CS(
        header.curve,
        header.num_wires,
        header.num_outputs + header.num_public_inputs,
        *_read_constraints(container.section(2), header),
        num_outputs=header.num_outputs,
        num_private_inputs=header.num_private_inputs,
        labels=_read_labels(container, header),
    )


def read_header(container: Container) -> R1csHeader:
    """Parse section 1."""
    reader = container.section(1)
    width = reader.u32("field size")
    prime = reader.integer(_checked_width(reader, width), "prime")
    curve = curve_of_fr(prime)
    if curve is None or curve.fr.nbytes != width:
        raise CurveMismatchError(
            f"the circuit is over a field of {width} bytes with the prime {prime}, which is not supported",
            where=f"{container.path}: section 1",
            limit="the scalar fields of bls12_381 and bn254",
            remedy="compile with --prime bls12381 or --prime bn128",
        )
    header = R1csHeader(
        curve,
        num_wires=reader.u32("number of wires"),
        num_outputs=reader.u32("number of outputs"),
        num_public_inputs=reader.u32("number of public inputs"),
        num_private_inputs=reader.u32("number of private inputs"),
        num_labels=reader.u64("number of labels"),
        num_constraints=reader.u32("number of constraints"),
    )
    reader.expect_end()
    return header


def _checked_width(reader: SectionReader, width: int) -> int:
    if width % 8 or not 8 <= width <= 64:
        raise reader.error(f"field size {width}", limit="a multiple of 8, from 8 to 64 bytes")
    return width


def _combination_starts(reader: SectionReader, words: NDArray[np.uint32], count: int, stride: int) -> Any:
    """Word positions of the counts of all linear combinations. Shape (count,) uint32, or int64 where needed.

    The only sequential part: where a combination starts depends on the length of the one before.
    """
    view = words.data  # a memoryview: indexing it costs a third of indexing the array
    starts = np.empty(count, dtype=np.int64 if len(words) >> 32 else np.uint32)
    position, index = 0, 0
    try:
        for index in range(count):
            length = view[position]
            starts[index] = position
            position += 1 + length * stride
    except IndexError:
        raise _combination_error(reader, index) from None
    if position > len(words):
        raise _combination_error(reader, count - 1)
    reader.offset += 4 * position
    return starts


def _combination_error(reader: SectionReader, index: int) -> Exception:
    matrix = "ABC"[index % 3]
    return reader.error(
        f"the section ends within constraint {index // 3}, matrix {matrix}",
        index=index // 3,
        limit=f"{reader.left} bytes for all constraints",
        remedy="the file is damaged or not complete; compile the circuit again",
    )


def _read_constraints(reader: SectionReader, header: R1csHeader) -> tuple[CsrMatrix, CsrMatrix, CsrMatrix]:
    """The three matrices; what was read on the way is gone before they are made."""
    a, b, c = _read_parts(reader, header).matrices(header)
    return a, b, c


def _read_parts(reader: SectionReader, header: R1csHeader) -> _Parts:
    """The entries of the matrices, parsed block by block so that no copy of the whole section is made."""
    fr, count = header.curve.fr, 3 * header.num_constraints
    first = reader.offset
    if 4 * count > reader.left:
        raise reader.error(
            f"{header.num_constraints} constraints do not fit the section",
            limit=f"{reader.left} bytes are left",
        )
    raw = reader.data[first : reader.end - reader.left % 4]
    # Sections written by others may start anywhere; words that are not aligned are copied.
    words: NDArray[np.uint32] = (raw if raw.ctypes.data % 4 == 0 else np.array(raw)).view("<u4")
    stride = 1 + fr.nbytes // 4
    starts = _combination_starts(reader, words, count, stride)
    reader.expect_end()
    parts = _Parts()
    for low in range(0, count, _BLOCK):
        high = min(low + _BLOCK, count)
        begin = int(starts[low])
        end = int(starts[high]) if high < count else len(words)
        block = _Block(low, begin, words[begin:end], starts[low:high] - begin, stride)
        block.check(reader, header, first)
        parts.add(block, *_interned(reader, header, block, first))
    return parts


@dataclass(frozen=True)
class _Block:
    """Some linear combinations, one after the other.

    Args:
        low: Number of the first combination; a multiple of 3.
        begin: Word of the section at which the block starts.
        words: Shape (m,) uint32: all words of the block.
        starts: Shape (k,) int64: where each combination starts among the words.
        stride: Words of an entry.
    """

    low: int
    begin: int
    words: NDArray[np.uint32]
    starts: NDArray[np.int64]
    stride: int

    @cached_property
    def wires(self) -> NDArray[np.uint32]:
        """Shape (nnz,) uint32: wire of each entry."""
        return self._entries()[:, 0].copy()

    def coefficients(self) -> U64Array:
        """Shape (nnz, limbs) uint64: coefficient of each entry, standard form, not checked."""
        return np.ascontiguousarray(self._entries()[:, 1:]).view("<u8")

    def _entries(self) -> NDArray[np.uint32]:
        """Shape (nnz, stride) uint32: wire and coefficient of each entry; as large as the block, so not kept."""
        is_entry = np.ones(len(self.words), dtype=bool)
        is_entry[self.starts] = False
        return self.words[is_entry].reshape(-1, self.stride)

    @cached_property
    def combination(self) -> NDArray[np.uint32]:
        """Shape (nnz,) uint32: which combination of the block an entry belongs to."""
        return np.repeat(np.arange(len(self.starts), dtype=np.uint32), self.words[self.starts])

    def place(self, entry: int, first: int) -> dict[str, Any]:
        """Byte and constraint of an entry, for messages; first is the byte at which the section's words start."""
        combination = int(self.combination[entry])
        # Each combination up to this one has one count word, each entry `stride` words.
        word = self.begin + combination + 1 + entry * self.stride
        return {"offset": first + 4 * word, "index": (self.low + combination) // 3}

    def check(self, reader: SectionReader, header: R1csHeader, first: int) -> None:
        """Check that every wire exists."""
        wires = self.wires
        if len(wires) and int(wires.max()) >= header.num_wires:
            entry = int(np.argmax(wires >= header.num_wires))
            raise reader.error(
                f"a constraint uses wire {int(wires[entry])}",
                limit=f"{header.num_wires} wires",
                **self.place(entry, first),
            )


def _interned(
    reader: SectionReader, header: R1csHeader, block: _Block, first: int
) -> tuple[U64Array, NDArray[Any]]:
    """The distinct coefficients of a block, standard form and checked, and each entry's index among them."""
    fr = header.curve.fr
    distinct, index = intern_values(block.coefficients())
    bad = first_not_below(distinct, fr.modulus)
    if bad is not None:
        raise reader.error(
            "a coefficient is not below the prime",
            limit=f"prime {fr.modulus}",
            **block.place(int(np.argmax(index == bad)), first),
        )
    return distinct, index


class _Parts:
    """Entries of the three matrices, collected block by block."""

    def __init__(self) -> None:
        self._columns: list[list[tuple[NDArray[Any], ...]]] = [[], [], []]
        self._values: list[U64Array] = []
        self._num_values = 0

    def add(self, block: _Block, distinct: U64Array, index: NDArray[Any]) -> None:
        """Take the entries of a block; its coefficients get indices behind those of the blocks before."""
        row, matrix = np.divmod(block.combination, np.uint32(3))
        row += np.uint32(block.low // 3)
        index = index.astype(np.uint32) + np.uint32(self._num_values)
        for i in range(3):
            chosen = matrix == i
            self._columns[i].append((row[chosen], block.wires[chosen], index[chosen]))
        self._values.append(distinct)
        self._num_values += len(distinct)

    def matrices(self, header: R1csHeader) -> list[CsrMatrix]:
        """The canonical matrices; the collected parts are given back."""
        fr, shape = header.curve.fr, (header.num_constraints, header.num_wires)
        made, again = [], np.arange(self._num_values)
        if len(self._values) != 1:  # the values of one block are distinct
            self._values, again = _merged(self._values, fr.limbs)
        dictionary = field_from_limbs(fr, self._values.pop())
        for i in range(3):
            none = (np.zeros(0, np.uint32),) * 3
            row, col, index = (np.concatenate(part) for part in zip(none, *self._columns[i], strict=True))
            self._columns[i].clear()
            made.append(csr_from_indexed(header.curve, shape, row, col, again[index], dictionary))
        return made


def _merged(values: list[U64Array], limbs: int) -> tuple[list[U64Array], NDArray[Any]]:
    """One list of the distinct values of several, and the new index of each value of the lists put together."""
    distinct, again = intern_values(np.concatenate([np.zeros((0, limbs), np.uint64), *values]))
    return [distinct], again


def _read_labels(container: Container, header: R1csHeader) -> NDArray[np.uint64] | None:
    if 3 not in container.spans:
        return None
    reader = container.section(3)
    raw = reader.take(8 * header.num_wires, "labels")
    reader.expect_end()
    return np.array(raw).view("<u8")


def save_r1cs(path: PathLike, r1cs: R1CS) -> None:
    """Write a circuit as a .r1cs file, version 1, sections 1, 2 and 3.

    Args:
        path: Target, replaced in one step.
        r1cs: The circuit. Without labels, wire i gets label i.

    Raises:
        InputError: The target cannot be written.
    """
    content = encode_r1cs(r1cs)
    with atomic_write(path) as file:
        file.write(content)


def encode_r1cs(r1cs: R1CS) -> bytes:
    """The bytes of ``save_r1cs``."""
    labels = np.arange(r1cs.num_variables, dtype="<u8") if r1cs.labels is None else r1cs.labels
    fr = r1cs.curve.fr
    num_inputs = r1cs.num_public - r1cs.num_outputs
    counts = (r1cs.num_variables, r1cs.num_outputs, num_inputs, r1cs.num_private_inputs)
    header = b"".join(
        [
            fr.nbytes.to_bytes(4, "little"),
            fr.modulus.to_bytes(fr.nbytes, "little"),
            *(count.to_bytes(4, "little") for count in counts),
            (int(labels.max()) + 1).to_bytes(8, "little"),
            r1cs.num_constraints.to_bytes(4, "little"),
        ]
    )
    last = np.ascontiguousarray(labels, dtype="<u8").tobytes()
    return write_container(MAGIC, VERSION, [(1, header), (2, _encode_constraints(r1cs)), (3, last)])


def _encode_constraints(r1cs: R1CS) -> bytes:
    fr = r1cs.curve.fr
    stride = 1 + fr.nbytes // 4
    matrices = list(r1cs.matrices.values())
    lengths = np.stack([np.diff(matrix.row_ptr) for matrix in matrices], axis=1).reshape(-1)
    sizes = 1 + lengths * stride
    starts = np.cumsum(sizes) - sizes
    words = np.zeros(int(sizes.sum()), dtype="<u4")
    words[starts] = lengths
    for i, matrix in enumerate(matrices):
        standard = ints_to_limbs(field_to_ints(fr, matrix.dictionary), fr.limbs)
        entries = np.empty((matrix.nnz, stride), dtype="<u4")
        entries[:, 0] = matrix.col
        entries[:, 1:] = standard.view("<u4").reshape(len(standard), stride - 1)[matrix.coeff]
        within = np.arange(matrix.nnz) - np.repeat(matrix.row_ptr[:-1], np.diff(matrix.row_ptr))
        at = starts[i::3][matrix.rows_of()] + 1 + within * stride
        words[at[:, None] + np.arange(stride)] = entries
    return words.tobytes()
