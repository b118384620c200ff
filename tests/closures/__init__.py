"""The classic synthesis: compiled code against plain ints and the sparse product."""
