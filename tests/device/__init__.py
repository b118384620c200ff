"""What runs on a GPU: every kernel there against the cpu device, and timings."""
