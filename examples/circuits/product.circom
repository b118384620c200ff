pragma circom 2.1.0;

// The smallest circuit that still shows every shape a prover meets: bit decompositions,
// a zero test, several public outputs, a public input, a constant that many rows share,
// and a signal that occurs in no constraint at all.

// Splits a value into `width` bits; a value of 2^width or more has no satisfying witness.
template Bits(width) {
    signal input value;
    signal output bit[width];
    var recomposed = 0;
    for (var i = 0; i < width; i++) {
        bit[i] <-- (value >> i) & 1;
        bit[i] * (1 - bit[i]) === 0;
        recomposed += bit[i] * (1 << i);
    }
    recomposed === value;
}

// flag = 1 if value is zero, else 0. `helper` is the inverse where there is one.
template ZeroTest() {
    signal input value;
    signal output flag;
    signal helper;
    helper <-- value == 0 ? 0 : 1 / value;
    flag <== 1 - value * helper;
    value * flag === 0;
}

template Product(width) {
    signal input a;
    signal input b;
    signal input offset;     // public
    signal input ignored;    // no constraint touches it: its key points are all infinity
    signal output product;
    signal output same;      // 1 if a = b
    signal output parity;    // lowest bit of a, exclusive or with that of b
    signal output mixed;

    component bits_a = Bits(width);
    bits_a.value <== a;
    component bits_b = Bits(width);
    bits_b.value <== b;

    product <== a * b;

    component difference = ZeroTest();
    difference.value <== a - b;
    same <== difference.flag;

    parity <== bits_a.bit[0] + bits_b.bit[0] - 2 * bits_a.bit[0] * bits_b.bit[0];

    // One weight in three different linear combinations.
    var weight = 1000003;
    signal left;
    left <== (weight * a + offset) * (weight * b + offset);
    mixed <== (weight * left + product) * (offset + 1);
}

component main {public [offset]} = Product(12);
