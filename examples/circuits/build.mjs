// Rebuilds everything under tests/data, and the copies beside this file, from the .circom sources.
//
//   node examples/circuits/build.mjs [WORK_DIR]
//
// The two npm packages named below are installed into WORK_DIR (default: a fresh folder under the
// system's temporary one). Each circuit is compiled for both curves, gets a Groth16 key from a
// ceremony of our own, and is proved once with snarkjs. Ceremony randomness is a fixed beacon, so
// all files but proof.json come out the same every time; it also means that these keys are worth
// nothing outside tests. tests/data/make_golden.py then adds the proofs with known blinding.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGES = ["circom2@0.2.23", "snarkjs@0.7.6"];
const CURVES = ["bn128", "bls12381"];
// One ceremony of 2^10 serves every circuit. bit_network uses all of it, and so gets the H points
// of a ceremony of exactly its own size, which differ from those of a larger one (its top power
// of tau is missing).
const POWER = 10;
const BEACON = "05".repeat(32);
const BEACON_ITERATIONS_EXP = "10";

const here = dirname(fileURLToPath(import.meta.url));
const data = resolve(here, "../../tests/data");
const work = resolve(process.argv[2] ?? mkdtempSync(join(tmpdir(), "circuits-")));

// `flags`: product keeps its unused signal and its linear rows only without simplification.
const CIRCUITS = {
  product: { flags: ["--O0"], input: { a: 2741, b: 1188, offset: 77, ignored: 5 } },
  mimc_chain: { flags: [], input: { message: [11, 222, 3333] } },
  no_public: { flags: [], input: { p: 65521, q: 65537 } },
  bit_network: { flags: [], input: { seed: Array.from({ length: 32 }, (_, i) => (0xb5297a4d >>> i) & 1) } },
  sparse_b: { flags: [], input: { challenge: 90210, entry: Array.from({ length: 44 }, (_, i) => i * i + 1) } },
};

/** Runs one of the installed tools in the work folder; its output shows only when it fails. */
function tool(name, ...args) {
  const program = join(work, "node_modules", ".bin", name);
  try {
    execFileSync(program, args, { cwd: work, stdio: "pipe" });
  } catch (error) {
    process.stderr.write(`${error.stdout}${error.stderr}`);
    throw new Error(`${name} ${args.join(" ")} failed`);
  }
}

/** Makes the prepared powers-of-tau file of one curve. */
function ceremony(curve) {
  tool("snarkjs", "powersoftau", "new", curve, String(POWER), `${curve}_0.ptau`);
  tool("snarkjs", "powersoftau", "beacon", `${curve}_0.ptau`, `${curve}_1.ptau`, BEACON, BEACON_ITERATIONS_EXP);
  tool("snarkjs", "powersoftau", "prepare", "phase2", `${curve}_1.ptau`, `${curve}.ptau`);
}

/** Compiles, sets up and proves one circuit on one curve; leaves the files in tests/data/CURVE/NAME. */
function build(curve, name) {
  const { flags, input } = CIRCUITS[name];
  const out = join(data, curve, name);
  const file = (extension) => join(out, `${name}.${extension}`);
  mkdirSync(out, { recursive: true });
  copyFileSync(join(here, `${name}.circom`), join(work, `${name}.circom`));
  tool("circom2", `${name}.circom`, "--r1cs", "--wasm", "--prime", curve, ...flags);
  copyFileSync(join(work, `${name}.r1cs`), file("r1cs"));
  writeFileSync(join(work, "input.json"), JSON.stringify(input));
  tool("snarkjs", "wtns", "calculate", join(`${name}_js`, `${name}.wasm`), "input.json", file("wtns"));
  tool("snarkjs", "wtns", "check", file("r1cs"), file("wtns"));
  tool("snarkjs", "groth16", "setup", file("r1cs"), `${curve}.ptau`, "initial.zkey");
  tool("snarkjs", "zkey", "beacon", "initial.zkey", file("zkey"), BEACON, BEACON_ITERATIONS_EXP);
  tool("snarkjs", "zkey", "verify", file("r1cs"), `${curve}.ptau`, file("zkey"));
  const [vkey, proof, pub] = ["vkey", "proof", "public"].map((stem) => join(out, `${stem}.json`));
  tool("snarkjs", "zkey", "export", "verificationkey", file("zkey"), vkey);
  tool("snarkjs", "groth16", "prove", file("zkey"), file("wtns"), proof, pub);
  tool("snarkjs", "groth16", "verify", vkey, pub, proof);
  console.log(`${curve}/${name}: r1cs ${statSync(file("r1cs")).size}, zkey ${statSync(file("zkey")).size} bytes`);
}

mkdirSync(work, { recursive: true });
writeFileSync(join(work, "package.json"), JSON.stringify({ private: true }));
execFileSync("npm", ["install", "--no-audit", "--no-fund", ...PACKAGES], { cwd: work, stdio: "inherit" });
for (const curve of CURVES) {
  ceremony(curve);
  for (const name of Object.keys(CIRCUITS)) build(curve, name);
  // The circuit that the README proves, where a reader looks for it.
  mkdirSync(join(here, curve), { recursive: true });
  for (const extension of ["r1cs", "wtns"]) {
    copyFileSync(join(data, curve, "product", `product.${extension}`), join(here, curve, `product.${extension}`));
  }
}
