#!/usr/bin/env bash
# The device suite on a machine with two GPUs: two lists of parts side by side, one on each GPU.
# usage: tests/device/suite_pair.sh OUT_DIR "PART..." "PART..."     (each list in the order of tests/device/suite.py;
#        a "/" in a list begins a further call of the suite, for parts that are to come after those before it)
# Builds as suite.sh does. The second GPU's parts run in a copy of the tree, so that the two keep their states apart;
# their results are in OUT_DIR/second. Ends within BUDGET_S seconds (default 520). FIRST_GPUS=0,1 shows both GPUs to the
# first list; with SECOND_AFTER=TEXT the second list begins when TEXT is in a log of the first, which has both until then.
set -euo pipefail
start=$SECONDS
out=$1
cd "$(dirname "$0")/../.."
built=$(tests/device/suite.sh "$out" --list) || { echo "$built"; exit 1; }
export PYTHONPATH="$PWD:$PWD/oracles:$PWD/fuzz:$PWD/examples${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1 PYTHONHASHSEED=0
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r . "$copy/tree"
rm -rf "$copy/tree/build/device-run"

# parts GPU OUT_DIR "PART... / PART...": the lists one after another in the present folder.
parts() {
    local lists list
    IFS=/ read -ra lists <<< "$3"
    for list in "${lists[@]}"; do
        # shellcheck disable=SC2086 - the list is words
        CUDA_VISIBLE_DEVICES=$1 python3 -m tests.device.suite --out "$2" \
            --budget-s $((${BUDGET_S:-520} - (SECONDS - start))) $list 2>&1 | sed "s/^/GPU $1: /" || failed=1
    done
    return "${failed:-0}"
}

(
    first=$PWD
    cd "$copy/tree"
    taskset -pc "$(($(nproc) / 2))-$(($(nproc) - 1))" "$BASHPID" > /dev/null # leaves the first list its cores
    until [[ -z ${SECOND_AFTER:-} ]] || grep -qs "$SECOND_AFTER" "$first"/build/device-run/*/*.log; do sleep 1; done
    PYTHONPATH="$PWD:$PWD/oracles:$PWD/fuzz:$PWD/examples:$PYTHONPATH" parts 1 "$out/second" "$3"
) &
failed=0
parts "${FIRST_GPUS:-0}" "$out" "$2" || failed=1
wait $! || failed=1
exit "$failed"
