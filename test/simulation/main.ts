import { generate } from './generate.ts';
import { play } from './play.ts';
const from = Number(process.argv[2] ?? 1), n = Number(process.argv[3] ?? 1);
const t = performance.now();
let count = 0, calls = 0, secs = 0;
const kinds: Record<string, number[]> = {};
for (let seed = from; seed < from + n; seed++) {
  const out = await play(generate(seed));
  count += out.maintenances; calls += out.calls; secs += out.seconds;
  if (out.violation) {
    (kinds[out.violation.invariant] ??= []).push(seed);
    console.log(seed, out.violation.invariant, out.violation.at, out.violation.message.slice(0, n === 1 ? 5000 : 600));
    if (n === 1) console.log(out.lines.map(l => l.slice(0, 700)).join('\n'));
  }
}
const s = (performance.now() - t) / 1000;
console.log({ count, calls, secs, took: s, rate: count / s, kinds });
