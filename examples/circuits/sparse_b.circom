pragma circom 2.1.0;

// Weighted sums scaled by one challenge. The entries and the scaled sums occur on the left and
// on the right of the rows, but only the challenge and its powers stand in the middle: nearly
// every point of both B queries is infinity.

template ScaledSums(length) {
    signal input challenge;      // public
    signal input entry[length];
    signal output total;
    signal power[4];
    power[0] <== challenge * challenge;
    for (var i = 1; i < 4; i++) {
        power[i] <== power[i - 1] * power[i - 1];
    }
    signal scaled[length];
    var sum = 0;
    for (var i = 0; i < length; i++) {
        var window = 0;
        for (var j = 0; j < 3; j++) {
            window += (j + 1) * entry[(i + j * j) % length];
        }
        scaled[i] <== (window + i) * power[i % 4];
        sum += scaled[i];
    }
    total <== sum * challenge;
}

component main {public [challenge]} = ScaledSums(44);
