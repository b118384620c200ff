"""Slow, obvious, independent implementations of everything that the cuzk kernels compute.

Each module is written for reading: plain Python ints, the definition from the book, no shared code with
`cuzk`. Nothing here imports `cuzk`, NumPy, the fuzzing harness or the tests; only `cuzk_oracles.third_party`
imports other libraries, each lazily. Every oracle is itself checked by a second one (`registry.FAMILIES` says
by which).

Values: field elements are ints in standard form, 0 <= x < modulus, unless a name ends in `_mont`.
Elements of Fp2 = Fp[u]/(u^2 + 1) are tuples (c0, c1). Affine points are tuples (x, y); infinity is None.

    fields fp2 curve params     field and group arithmetic, curve parameters
    ntt msm spmv vec            transforms, multi-scalar multiplication, sparse product, element-wise work
    qap groth16 trapdoor toy    the proof system: quotient, set-up, prover, exact expected proofs, toy engine
    poseidon                    Filecoin's hash over the scalar field of BLS12-381
    verify parsers encoding     pairing check, second readers of the file formats, compressed points
    edge_values edge_points     named edge classes; `samples`: random satisfied constraint systems
    registry lineages           which kernel family is checked by what; which libraries are independent
    third_party                 adapters: py_ecc, pyblst, pymcl, zksnake, py-arkworks, python-flint, gmpy2
"""
