"""The devices without their hardware: memory, copies, launches, errors, the cache of compiled kernels."""
