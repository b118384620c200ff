pragma circom 2.1.0;

// A keyed permutation of the MiMC kind, x -> (x + key + constant)^5 round after round,
// and a short hash chain made of it. Every witness value is a full-width field element.
//
// The exponent 5 is coprime to r - 1 on both curves, so each round is a bijection. The round
// constants come from the recurrence in `constant`; they are ours and fit no published
// instance, so nothing here may be used as a hash outside the tests.

function constant(round) {
    var value = 271828182845904523536028747135266249775724709369995;
    for (var i = 0; i < round; i++) {
        value = value * value * value + 31 * i + 7;
    }
    return value;
}

template Permutation(rounds) {
    signal input x;
    signal input key;
    signal output y;
    signal square[rounds];
    signal fourth[rounds];
    signal state[rounds + 1];
    state[0] <== x;
    for (var i = 0; i < rounds; i++) {
        var base = state[i] + key + constant(i);
        square[i] <== base * base;
        fourth[i] <== square[i] * square[i];
        state[i + 1] <== fourth[i] * base;
    }
    y <== state[rounds] + key;
}

// digest = compress(...compress(compress(0, m[0]), m[1])..., m[length - 1])
template Chain(length, rounds) {
    signal input message[length];
    signal output digest;
    component step[length];
    signal link[length + 1];
    link[0] <== 0;
    for (var i = 0; i < length; i++) {
        step[i] = Permutation(rounds);
        step[i].x <== message[i];
        step[i].key <== link[i];
        link[i + 1] <== step[i].y + link[i] + message[i];
    }
    digest <== link[length];
}

component main = Chain(3, 23);
