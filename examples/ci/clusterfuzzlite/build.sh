#!/bin/bash -eu
# One executable a target: ClusterFuzzLite looks for them in $OUT.
for target in word field fp2 point vec ntt spmv digits msm batch_add fixed_base groth16 readers; do
    cat > "$OUT/fuzz_$target" <<END
#!/bin/sh
# LLVMFuzzerTestOneInput: the word by which fuzz targets are recognised
exec python3 "\$(dirname "\$0")/target.py" $target "\$@"
END
    chmod +x "$OUT/fuzz_$target"
done
cp examples/ci/clusterfuzzlite/target.py "$OUT/"
