#!/usr/bin/env bash
# One call that shows the state of a commit on a GPU: every kernel against the cpu, kernel times, whole proofs.
# usage: tests/device/final.sh OUT_DIR   (results as a few JSON files)
set -euo pipefail
out=$1
work=$(mktemp -d)
tests/device/run.sh "$work" smoke > "$work/log.txt" 2>&1 || { tail -30 "$work/log.txt"; exit 1; }
tail -4 "$work/log.txt"
cp "$work/smoke.json" "$out/smoke.json"
export PYTHONPATH="$PWD:$PWD/oracles:$PWD/examples${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
python3 -m tests.device.timings --json "$out/timings.json"
python3 -m tests.device.proofs --logs 22,24 --json "$out/proofs.json"
python3 -m tests.device.tune_msm --json "$out/tune_msm_g1.json"
