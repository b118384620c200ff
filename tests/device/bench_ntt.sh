#!/usr/bin/env bash
# Transforms on a GPU: builds only what they need, checks, times, and asks ncu what one pass waits for.
# usage: tests/device/bench_ntt.sh OUT_DIR [options of bench_ntt]
set -euo pipefail
out=$1
shift
export PYTHONPATH="$PWD:$PWD/oracles${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
nvidia-smi --query-gpu=name,driver_version,clocks.sm --format=csv,noheader | tee "$out/gpu.txt"
start=$SECONDS
python3 -c 'from cuzk.device import builder; builder.build("bls12_381", "fr", "90")' > "$out/nvrtc.txt" 2>&1 &
cmake -S . -B build/device -G Ninja -DPython_EXECUTABLE="$(command -v python3)" \
    -Dnanobind_DIR="$(python3 -m nanobind --cmake_dir)" > "$out/cmake.log"
cmake --build build/device --target _cpu_v3 > "$out/build.log" 2>&1 || { tail -40 "$out/build.log"; exit 1; }
cp build/device/_cpu_v3*.so cuzk/
wait %1 || { cat "$out/nvrtc.txt"; exit 1; }
echo "built in $((SECONDS - start)) s"
python3 -m tests.device.bench_ntt --json "$out/ntt.json" "$@" 2>&1 | tee "$out/ntt.txt"
if command -v ncu > /dev/null; then
    ncu --clock-control none -k regex:ntt_dif_pass -s 3 -c 3 --section SpeedOfLight --section WarpStateStats \
        --section InstructionStats --section ComputeWorkloadAnalysis --section Occupancy --section MemoryWorkloadAnalysis \
        --csv --page raw --log-file "$out/ncu.csv" \
        python3 -m tests.device.bench_ntt --logs 24 --repeats 1 > "$out/ncu.log" 2>&1 || tail -5 "$out/ncu.log"
fi
