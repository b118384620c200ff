pragma circom 2.1.0;

// Knowledge of a factorisation of a fixed number, with no public value whatsoever:
// public.json is an empty list and the verification key has a single IC point.

template Factors(target, width) {
    signal input p;
    signal input q;
    signal bit_p[width];
    signal bit_q[width];
    var sum_p = 0;
    var sum_q = 0;
    for (var i = 0; i < width; i++) {
        bit_p[i] <-- (p >> i) & 1;
        bit_p[i] * (bit_p[i] - 1) === 0;
        sum_p += bit_p[i] * (1 << i);
        bit_q[i] <-- (q >> i) & 1;
        bit_q[i] * (bit_q[i] - 1) === 0;
        sum_q += bit_q[i] * (1 << i);
    }
    sum_p === p;
    sum_q === q;
    p * q === target;

    // Neither factor is one: both p - 1 and q - 1 have inverses.
    signal inverse_p;
    signal inverse_q;
    inverse_p <-- 1 / (p - 1);
    inverse_q <-- 1 / (q - 1);
    (p - 1) * inverse_p === 1;
    (q - 1) * inverse_q === 1;
}

component main = Factors(4294049777, 17);
