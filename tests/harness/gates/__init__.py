"""The gates: `python -m tests.harness.gates quick|gate|nightly`; docs/testing.md describes them."""
