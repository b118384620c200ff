#!/usr/bin/env bash
# The device suite on a machine with two GPUs: lists of parts side by side, the first on one GPU, the others on the other.
# usage: tests/device/suite_pair.sh OUT_DIR "PART..." "PART..."...  (each list in the order of tests/device/suite.py;
#        a "/" in a list begins a further call of the suite, for parts that are to come after those before it)
# Builds as suite.sh does. The second GPU's lists run in copies of the tree, so that all keep their states apart;
# their results are second, third and so on in
# OUT_DIR/others.tar.gz. Ends within BUDGET_S seconds (default 520). FIRST_GPUS=0,1 shows both GPUs to the first list; with
# SECOND_AFTER=TEXT the others begin when TEXT is in a log of the first, which has both until then.
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

first=$PWD
# beside NAME "PART...": a list on the second GPU, in a copy of the tree; leaves the first list cores of its own.
beside() {
    cp -r "$copy/tree" "$copy/$1"
    cd "$copy/$1"
    taskset -pc "4-$(($(nproc) - 1))" "$BASHPID" > /dev/null
    until [[ -z ${SECOND_AFTER:-} ]] || grep -qs "$SECOND_AFTER" "$first"/build/device-run/*/*.log; do sleep 1; done
    PYTHONPATH="$PWD:$PWD/oracles:$PWD/fuzz:$PWD/examples:$PYTHONPATH" parts 1 "$copy/others/$1" "$2"
}

failed=0
mkdir "$copy/others"
others=()
names=(second third fourth)
for list in "${@:3}"; do
    (beside "${names[${#others[@]}]}" "$list") &
    others+=($!)
done
parts "${FIRST_GPUS:-0}" "$out" "$2" || failed=1
for other in "${others[@]}"; do
    wait "$other" || failed=1
done
((${#others[@]} == 0)) || tar -czf "$out/others.tar.gz" -C "$copy/others" .
exit "$failed"
