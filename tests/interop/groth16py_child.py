"""Prove once with groth16py and print what that took inside the process, as JSON.

    PYTHON groth16py_child.py KEY.zkey WITNESS.wtns

A program of its own: compare.py starts it with an interpreter that has groth16py, and cuzk has no part in it.
"""

import importlib
import json
import sys
import time

groth16py = importlib.import_module("groth16py")

start, cpu = time.perf_counter(), time.process_time()
key, _ = groth16py.import_zkey(sys.argv[1])
loaded, cpu_loaded = time.perf_counter(), time.process_time()
proof = groth16py.prove_wtns(key, sys.argv[2])
end, cpu_end = time.perf_counter(), time.process_time()
assert proof, "no proof"
print(
    json.dumps(
        {
            "load_s": loaded - start,
            "prove_s": end - loaded,
            "load_cpu_s": cpu_loaded - cpu,
            "prove_cpu_s": cpu_end - cpu_loaded,
        }
    )
)
