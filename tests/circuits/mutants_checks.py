"""The tests that a mutant of a gadget's source has to get past: the cheap ones of the gadgets that it can reach.

They run here as plain functions, cheapest first, in a process whose modules are imported with the mutant in place.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

__all__ = ["first_failure"]

#: Test file -> tests, in order of cost. All parameters of each are tried but those in _LEFT_OUT.
_GADGETS = (
    "gadgets:test_bit_orders test_a_bit_is_zero_or_one test_an_operand_twice test_packing test_sums_of_words"
    " test_constant_sums_need_no_rows test_rows_depend_on_forms_alone test_truth_tables"
    " test_equations_share_rows_until_the_field_is_full test_two_errors_of_one_row_do_not_cancel"
    " test_an_error_writes_no_last_row"
)
_SHA256 = (
    "sha256:test_constants_need_no_rows test_counts_of_bellperson test_rows_do_not_change"
    " test_digests_of_every_padding test_witnesses_of_the_named_circuits test_a_smaller_field"
)
_BLAKE2S = (
    "blake2s:test_counts_of_bellperson test_digests_and_witnesses"
    " test_inclusion_as_rust_fil_proofs_counts_it test_inclusion_in_a_tree",
    "pins:por:blake2s:8-2-0:16:public",
)
_POSEIDON = (
    "poseidon:test_published_values test_constants_are_the_oracles test_round_numbers_are_those_in_use"
    " test_shape_of_the_optimised_constants",
    "poseidon_gadget:test_rows_of_neptune test_terms_and_hash_of_the_named_circuits"
    " test_digests_and_witnesses test_another_digest_breaks_the_last_row",
)
_POR = (
    "por:test_decomposition test_insertion test_counts_of_rust_fil_proofs test_one_level_of_eight"
    " test_inclusion_with_a_root_at_hand test_false_paths_break_a_row test_a_node_of_sha256"
    " test_witnesses_and_public_inputs",
    "pins:por:poseidon:8-4-2:64:public",
    "pins:por:sha256:2-0-0:4:private",
)
_LABEL = (
    "por:test_a_label_without_parents test_rows_of_a_label",
    "stacked:test_labels_by_programs",
    "pins:create-label",
)
_POST = (
    "post:test_counts_of_rust_fil_proofs test_a_window_from_the_proofs_of_its_sectors"
    " test_false_vanilla_proofs_break_a_row test_proofs_of_another_shape_are_refused",
    "pins:window-post:2KiB",
)
_STACKED = (
    "stacked:test_counts_of_rust_fil_proofs test_a_witness_satisfies_every_row_and_has_the_verifiers_inputs"
    " test_proofs_of_another_shape_are_refused test_rows_of_every_size test_false_vanilla_proofs_break_a_row",
    "pins:stacked:8-0-0:8n:2l:1c",
)
_SPROUT = ("sprout:test_the_published_hash test_a_witness",)

#: Module below cuzk.circuits -> what can see a change in it.
_REACHED_BY: dict[str, tuple[str, ...]] = {
    "boolean": (_GADGETS, _SHA256, *_SPROUT),
    "uint32": (_GADGETS, _SHA256, *_SPROUT),
    "multipack": (_GADGETS, *_POR, *_SPROUT),
    "sha256": (_SHA256, *_SPROUT),
    "hashes": (_SHA256,),
    "blake2s": _BLAKE2S,
    "number": (*_POR, *_LABEL, *_POST),
    "poseidon": _POSEIDON,
    "vanilla.poseidon_constants": _POSEIDON,
    "por": (*_POR, *_BLAKE2S, *_POST),
    "create_label": (*_LABEL, *_STACKED),
    "column": _STACKED,
    "stacked": _STACKED,
    "fallback_post": _POST,
    "hints": (*_POST, *_STACKED),
    "sprout": _SPROUT,
}


def first_failure(module: str) -> str | None:
    """The first test that fails with what is imported now, or None.

    Args:
        module: Below cuzk.circuits: what is changed.
    """
    for group in _REACHED_BY[module]:
        file, _, names = group.partition(":")
        only: list[dict[str, Any]] = []
        if file == "pins":
            names, only = "test_rows_do_not_change", [{"name": names}]
        try:
            tests = importlib.import_module(f"tests.circuits.test_{file}")
        except Exception as error:  # noqa: BLE001 - a mutant may do anything
            return f"import of test_{file}: {type(error).__name__}"
        for name in names.split():
            test: Callable[..., None] = getattr(tests, name)
            for arguments in only or _cases(test):
                try:
                    test(**arguments)
                except BaseException as error:  # noqa: BLE001 - pytest's own failures are no Exception
                    return f"test_{file}.{name}: {type(error).__name__}"
    return None


def _cases(test: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """The arguments of each run that pytest would make."""
    choices: list[list[dict[str, Any]]] = []
    for mark in getattr(test, "pytestmark", []):
        if mark.name != "parametrize":
            continue
        names, values = mark.args
        keys = [names] if isinstance(names, str) else list(names)
        rows = [getattr(value, "values", value if len(keys) > 1 else (value,)) for value in values]
        if isinstance(values, dict):
            rows = [(value,) for value in values]
        choices.append([dict(zip(keys, row, strict=True)) for row in rows])
    for combination in product(*choices):
        arguments = {key: value for part in combination for key, value in part.items()}
        assert set(arguments) == set(inspect.signature(test).parameters)
        yield arguments
