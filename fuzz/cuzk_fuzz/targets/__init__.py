"""One module a target: how bytes become cases, how a device runs them, what the oracle says."""
