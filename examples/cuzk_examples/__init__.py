"""Circuits that examples and tests build in memory, with their witnesses, and the files that hold them.

    circuit   Circuit: rows of a rank-1 constraint system and the values that satisfy them, in plain ints
    mimc      a Merkle path over a MiMC-like hash: full-width values, any size
    files     .r1cs and .wtns as circom writes them

Standard library only, so that an example reads from top to bottom without the prover's own types.
"""
