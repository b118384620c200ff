"""What Filecoin's circuits prove, computed outside the circuit.

    poseidon_constants poseidon     the hash of columns and octal trees, plain and optimised constants

A value of the scalar field is an int in standard form, 0 <= x < r; as bytes it is 32 bytes, little-endian.
Everything is plain Python: enough to seal sectors of some MiB, not those of a miner.
"""
