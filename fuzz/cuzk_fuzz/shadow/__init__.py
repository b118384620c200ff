"""Shadow memory: what an emulated kernel reads and writes, checked word by word."""
