#!/usr/bin/env bash
# Multi-scalar multiplication on a GPU: builds only what it needs, then profile_msm, and ncu on its main kernels.
# usage: [NCU=log2n] tests/device/bench_msm.sh OUT_DIR [options of profile_msm]
set -euo pipefail
out=$1
shift
export PYTHONPATH="$PWD:$PWD/oracles${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
nvidia-smi --query-gpu=name,driver_version,clocks.sm --format=csv,noheader | tee "$out/gpu.txt"
start=$SECONDS
for family in fr ${FAMILIES:-g1}; do
    python3 -c "from cuzk.device import builder; builder.build('bls12_381', '$family', '90')" > "$out/nvrtc-$family.txt" 2>&1 &
done
cmake -S . -B build/device -G Ninja -DPython_EXECUTABLE="$(command -v python3)" \
    -Dnanobind_DIR="$(python3 -m nanobind --cmake_dir)" > "$out/cmake.log"
cmake --build build/device --target _cpu_v3 > "$out/build.log" 2>&1 || { tail -40 "$out/build.log"; exit 1; }
cp build/device/_cpu_v3*.so cuzk/
wait
echo "built in $((SECONDS - start)) s"
python3 -m tests.device.profile_msm --json "$out/msm.json" "$@" 2>&1 | tee "$out/msm.txt"
if [[ -n "${NCU:-}" ]] && command -v ncu > /dev/null; then
    ncu --clock-control none -k "regex:${NCU_KERNELS:-msm_halve|msm_line_sums|msm_scatter|msm_digits|msm_pair_list}" -c "${NCU_COUNT:-12}" \
        --section SpeedOfLight --section WarpStateStats --section InstructionStats --section ComputeWorkloadAnalysis \
        --section Occupancy --section MemoryWorkloadAnalysis --csv --page raw --log-file "$out/ncu.csv" \
        python3 -m tests.device.profile_msm --logs "$NCU" > "$out/ncu.log" 2>&1 || tail -5 "$out/ncu.log"
fi
