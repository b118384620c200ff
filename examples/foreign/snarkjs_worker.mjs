// Sums and transforms by ffjavascript, the arithmetic under snarkjs: one JSON request a line, one answer a line.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.argv[2], "package.json"));
const { buildBn128 } = require("ffjavascript");
const curve = await buildBn128();
const { Fr, G1 } = curve;

function point(p) {
  return p === null ? G1.toAffine(G1.zero) : G1.fromObject([BigInt(p[0]), BigInt(p[1])]);
}

async function sum({ points, scalars }) {
  const bases = new Uint8Array(points.length * G1.F.n8 * 2);
  points.forEach((p, i) => bases.set(G1.toAffine(point(p)), i * G1.F.n8 * 2));
  const numbers = new Uint8Array(scalars.length * Fr.n8);
  scalars.forEach((k, i) => Fr.toRprLE(numbers, i * Fr.n8, Fr.e(BigInt(k))));
  const total = await G1.multiExpAffine(bases, numbers);
  const [x, y, z] = G1.toObject(G1.toAffine(total));
  return z === 0n ? null : [String(x), String(y)]; // infinity comes as (0, 1, 0), which isZero() does not recognise
}

async function transform({ values, inverse }) {
  const input = values.map((v) => Fr.e(BigInt(v)));
  const output = inverse ? await Fr.ifft(input) : await Fr.fft(input);
  return output.map((v) => String(Fr.toObject(v)));
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const answer = request.op === "msm" ? await sum(request) : await transform(request);
  process.stdout.write(JSON.stringify(answer) + "\n");
}
await curve.terminate();
