#!/usr/bin/env bash
# Everything that needs a GPU, in one call: build, every kernel against the cpu, timings.
# usage: tests/device/run.sh OUT_DIR [smoke|prove|time|all]
set -euo pipefail
out=$1 what=${2:-all}
export PYTHONPATH="$PWD:$PWD/oracles:$PWD/examples${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
nvidia-smi --query-gpu=name,driver_version,clocks.sm --format=csv,noheader | tee "$out/gpu.txt"
start=$SECONDS
cmake -S . -B build/device -G Ninja -DPython_EXECUTABLE="$(command -v python3)" \
    -Dnanobind_DIR="$(python3 -m nanobind --cmake_dir)" > "$out/cmake.log"
cmake --build build/device > "$out/build.log" 2>&1 || { tail -40 "$out/build.log"; exit 1; }
cp build/device/*.so cuzk/
echo "host kernels built in $((SECONDS - start)) s"
python3 -m tests.device.build_all 2>&1 | tee "$out/nvrtc.txt"
if [[ $what == smoke || $what == all ]]; then
    python3 -m tests.device.smoke --device cuda --json "$out/smoke.json" 2>&1 | tee "$out/smoke.txt" || true
fi
if [[ $what == prove || $what == all ]]; then
    python3 -m tests.device.proofs --logs "${LOGS:-20,22}" --json "$out/proofs.json" 2>&1 | tee "$out/proofs.txt"
fi
if [[ $what == time || $what == all ]]; then
    python3 -m tests.device.timings --json "$out/timings.json" 2>&1 | tee "$out/timings.txt"
fi
