pragma circom 2.1.0;

// A network of exclusive-or and majority gates over a ring of bits, layer after layer: almost
// the whole witness is 0 or 1. Every gate's output is also checked to be a bit; the check is
// implied by the gate, and is there because real circuits are full of such rows.

template Boolean() {
    signal input bit;
    bit * (bit - 1) === 0;
}

template Xor() {
    signal input a;
    signal input b;
    signal output out;
    out <== a + b - 2 * a * b;
}

// 1 if at least two of the three inputs are 1.
template Majority() {
    signal input a;
    signal input b;
    signal input c;
    signal output out;
    signal both;
    both <== b * c;
    out <== a * (b + c - 2 * both) + both;
}

template Network(width, layers) {
    signal input seed[width];
    signal output digest[width];
    signal ring[layers + 1][width];
    component seed_check[width];
    component check[layers][width];
    component xor[layers][width];
    component majority[layers][width];
    for (var i = 0; i < width; i++) {
        seed_check[i] = Boolean();
        seed_check[i].bit <== seed[i];
        ring[0][i] <== seed[i];
    }
    for (var k = 0; k < layers; k++) {
        for (var i = 0; i < width; i++) {
            check[k][i] = Boolean();
            if ((i + k) % 3 == 0) {
                majority[k][i] = Majority();
                majority[k][i].a <== ring[k][i];
                majority[k][i].b <== ring[k][(i + 1) % width];
                majority[k][i].c <== ring[k][(i + 5 + k) % width];
                ring[k + 1][i] <== majority[k][i].out;
            } else {
                xor[k][i] = Xor();
                xor[k][i].a <== ring[k][i];
                xor[k][i].b <== ring[k][(i + 3 + 2 * k) % width];
                ring[k + 1][i] <== xor[k][i].out;
            }
            check[k][i].bit <== ring[k + 1][i];
        }
    }
    for (var i = 0; i < width; i++) {
        digest[i] <== ring[layers][i];
    }
}

component main = Network(32, 12);
