"""What Filecoin's circuits prove, computed outside the circuit.

    poseidon_constants poseidon     the hash of columns and octal trees, plain and optimised constants
    domain merkle                   32-byte values; hashers; trees of base, sub and top arity, dense and sparse
    chacha graph                    the parents of a node
    labels shapes seal              labels, sector sizes, sealing of a sector
    porep synth_challenges post     challenges, vanilla proofs and their checks
    codec merkle_files              bincode and JSON from one description of types; Merkle proofs in files
    porep_files post_files          files of vanilla proofs
    synthetic                       vanilla proofs of any sector size without a sealed sector

A value of the scalar field is an int in standard form, 0 <= x < r; as bytes it is 32 bytes, little-endian.
Everything is plain Python: enough to seal sectors of some MiB, not those of a miner.
"""
