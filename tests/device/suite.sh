#!/usr/bin/env bash
# The device suite: builds, then runs the parts that have not passed yet for this tree, and collects their results.
# usage: tests/device/suite.sh OUT_DIR [part...]     (parts: tests/device/suite.py --list; all by default)
# A call ends by itself within BUDGET_S seconds (default 520); call again for what is left.
set -euo pipefail
out=$1
shift
cd "$(dirname "$0")/../.."
export PYTHONPATH="$PWD:$PWD/oracles:$PWD/fuzz:$PWD/examples${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
export PYTHONHASHSEED=0
mkdir -p "$out"
if ! python3 -c 'import sys; from tests.device import gpu; print(gpu.why_none()); sys.exit(bool(gpu.why_none()))'; then
    echo "device suite skipped: the line above says why"
    exit 0
fi
nvidia-smi --query-gpu=name,driver_version,clocks.sm --format=csv,noheader | tee "$out/gpu.txt" || true
start=$SECONDS
if ! python3 -c 'from cuzk.device import get_device; get_device("emu"); get_device("cpu")' 2> /dev/null || [[ -d build/device ]]; then
    python3 -m tests.device.build_all --json "$out/build.json" > "$out/nvrtc.log" 2>&1 & # the compilers run side by side
    cmake -S . -B build/device -G Ninja -DPython_EXECUTABLE="$(command -v python3)" \
        -Dnanobind_DIR="$(python3 -m nanobind --cmake_dir)" > "$out/build.log"
    cmake --build build/device >> "$out/build.log" 2>&1 || { tail -40 "$out/build.log"; exit 1; }
    cp build/device/*.so cuzk/
    # A module that does not compile fails the parts that need it; the others are wanted all the same.
    wait %1 || { tail -40 "$out/nvrtc.log"; echo "not every GPU module compiles: see nvrtc.log"; }
    echo "host and GPU kernels built in $((SECONDS - start)) s"
fi
budget=$((${BUDGET_S:-520} - (SECONDS - start)))
exec python3 -m tests.device.suite --out "$out" --budget-s "$budget" "$@"
