"""Strategies for field elements, Fp2 elements, scalars, scalar vectors, sizes and machine words."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from cuzk_oracles import edge_values, fields
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

T = TypeVar("T")


def by_id(cases: Sequence[tuple[str, T]]) -> SearchStrategy[T]:
    """One of the ids with equal chance, then one of its values."""
    groups: dict[str, list[T]] = defaultdict(list)
    for edge_id, value in cases:
        groups[edge_id].append(value)
    return st.sampled_from(list(groups.values())).flatmap(st.sampled_from)


@cache
def field_elements(p: int) -> SearchStrategy[int]:
    """Elements of Fp in standard form: class F, or uniform."""
    edge = by_id(edge_values.field_values(p, fields.num_limbs(p)))
    return st.one_of(edge, st.integers(0, p - 1))


@cache
def field_pairs(p: int) -> SearchStrategy[tuple[int, int]]:
    """Pairs: the pairs of class F, or two independent elements."""
    edge = by_id(edge_values.field_pairs(p, fields.num_limbs(p)))
    return st.one_of(st.tuples(field_elements(p), field_elements(p)), edge)


@cache
def fp2_elements(p: int) -> SearchStrategy[tuple[int, int]]:
    """Elements of Fp2: any pair, one coordinate zero, equal or opposite coordinates."""
    element = field_elements(p)
    return st.one_of(
        field_pairs(p),
        element.map(lambda c0: (c0, 0)),
        element.map(lambda c1: (0, c1)),
    )


@cache
def words(bits: int = 32) -> SearchStrategy[int]:
    """Machine words: class W, or uniform."""
    return st.one_of(by_id(edge_values.words(bits)), st.integers(0, (1 << bits) - 1))


@cache
def scalars(r: int, window_bits: int = 8, scalar_bits: int | None = None) -> SearchStrategy[int]:
    """Scalars below r (and 2^scalar_bits): class K, or uniform."""
    limit = min(r, 1 << (scalar_bits or r.bit_length()))
    edge = by_id(edge_values.scalars(r, window_bits, scalar_bits))
    return st.one_of(edge, st.integers(0, limit - 1))


def scalar_vectors(r: int, n: int, window_bits: int = 8) -> SearchStrategy[list[int]]:
    """Vectors of n scalars: one of the distributions of class K, or a mix."""
    edge = st.integers(0, 2**32 - 1).flatmap(
        lambda seed: by_id(edge_values.scalar_vectors(r, n, window_bits, seed))
    )
    return st.one_of(edge, st.lists(scalars(r, window_bits), min_size=n, max_size=n))


def sizes(max_size: int, block: int = 32, grid: int = 2) -> SearchStrategy[int]:
    """Vector lengths up to max_size: class S, or uniform."""
    edge = by_id(edge_values.sizes(block, grid, max_size))
    return st.one_of(edge, st.integers(0, max_size))


def matrix_rows(num_columns: int, r: int) -> SearchStrategy[list[tuple[int, int]]]:
    """Rows of a sparse matrix: class M, or a few random entries."""
    entry = st.tuples(st.integers(0, num_columns - 1), field_elements(r))
    edge = st.integers(0, 2**32 - 1).flatmap(
        lambda seed: by_id(edge_values.matrix_rows(num_columns, r, seed))
    )
    return st.one_of(edge, st.lists(entry, max_size=5))
