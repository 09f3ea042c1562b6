import { readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { changedSince, defaultBase, filesAt, isPlantable, sampleOf } from './choose.ts';
import { hunt, type Result, surveyOf } from './hunt.ts';
import { type Accepted, figuresOf, foldersOf, isKilled, outdated, survivorsOf } from './report.ts';
import { type Mutant, mutantsOf } from './schemata.ts';
import type { Survey } from './worker-process.ts';

const usage = `npm run mutate -- [--base REF | --all | PLACE…] [--sample N [--seed S]] [--near]
Plants single faults in core and operator, and tells which of them no unit test notices.
  PLACE        a file or folder in packages/core/src or packages/operator/src
  --base REF   files changed since this branch left REF (default: main, or the commit before on main itself)
  --all        all of core and operator
  --sample N   N faults of them, drawn by the seed S (default 1)
  --near       only by the tests of core, operator and apis; else what they miss is shown to the other unit tests as well`;

const root = join(import.meta.dirname, '..', '..');
/** The rooms whose tests are quick, and are about core and operator themselves. */
const near = ['packages/core/src/', 'packages/operator/src/', 'packages/apis/src/'];

/** The unit tier. Tests that start processes cannot see a fault that is planted in this one. */
async function unitTests(): Promise<readonly string[]> {
  type Tiers = {
    readonly tiers: readonly { readonly name: string; readonly files: readonly string[] }[];
  };
  const { tiers } = (await import(
    new URL('../../scripts/tiers.mjs', import.meta.url).href
  )) as Tiers;
  const files = tiers.find(({ name }) => name === 'unit')?.files ?? [];
  const canTakePart = (file: string): boolean =>
    !file.startsWith(join('test', 'mutation')) &&
    !readFileSync(join(root, file), 'utf8').includes('node:child_process');
  return files.filter(canTakePart);
}

function options() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      base: { type: 'string' },
      all: { type: 'boolean', default: false },
      sample: { type: 'string' },
      seed: { type: 'string', default: '1' },
      near: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  return { ...values, places: positionals };
}

function filesFor({ all, base, places }: ReturnType<typeof options>): readonly string[] {
  const found = all
    ? filesAt(root, 'packages')
    : places.length > 0
      ? places.flatMap(place => filesAt(root, place))
      : changedSince(root, base ?? defaultBase(root));
  return [...new Set(found)].filter(isPlantable).sort();
}

function tellSurvey({ cases, leftOut }: Survey): void {
  for (const [file, why] of Object.entries(leftOut)) console.log(`left out: ${file}: ${why}`);
  for (const { file, name, fails } of cases)
    if (fails !== undefined) console.log(`left out: ${file}: ${name}: ${fails}`);
  const ms = cases.reduce((all, one) => all + one.ms, 0);
  console.log(`${cases.length} tests, ${(ms / 1000).toFixed(1)} s`);
}

function tell(results: readonly Result[], accepted: readonly Accepted[]): boolean {
  for (const survivor of survivorsOf(results, accepted)) console.log(survivor);
  for (const folder of foldersOf(results)) console.log(folder);
  const old = outdated(results, accepted);
  for (const { file, fault } of old)
    console.log(`accepted, but noticed or gone: ${file}  ${fault}`);
  const figures = figuresOf(results);
  for (const { room, killed, total, percent, bound } of figures) {
    console.log(
      `${percent < bound ? 'FAIL' : 'ok  '} ${room}: ${killed} of ${total} noticed, ${percent.toFixed(1)} % (at least ${bound} %)`,
    );
  }
  return old.length === 0 && figures.every(({ percent, bound }) => percent >= bound);
}

/** One round: what these tests notice of the faults. */
async function round(
  tests: readonly string[],
  mutants: readonly Mutant[],
): Promise<readonly Result[]> {
  const setting = { root, tests, planted: [...new Set(mutants.map(({ file }) => file))] };
  const survey = await surveyOf(setting);
  tellSurvey(survey);
  const since = performance.now();
  return hunt(setting, survey, mutants, count => {
    const seconds = (performance.now() - since) / 1000;
    if (count % 200 === 0)
      console.log(`${count} of ${mutants.length} faults tried, ${seconds.toFixed(0)} s`);
  });
}

async function rounds(mutants: readonly Mutant[], onlyNear: boolean): Promise<readonly Result[]> {
  const tests = await unitTests();
  const isNear = (file: string): boolean => near.some(room => file.startsWith(room));
  const first = await round(tests.filter(isNear), mutants);
  const missed = first.filter(result => !isKilled(result));
  if (onlyNear || missed.length === 0) return first;
  const far = tests.filter(file => !isNear(file));
  const second = await round(
    far,
    missed.map(({ mutant }) => mutant),
  );
  const noticed = new Map(second.filter(isKilled).map(result => [result.mutant.id, result]));
  return first.map(result => noticed.get(result.mutant.id) ?? result);
}

async function main(): Promise<number> {
  const chosen = options();
  if (chosen.help) {
    console.log(usage);
    return 0;
  }
  setPriority(10);
  const files = filesFor(chosen);
  const all = files.flatMap(file => mutantsOf(file, readFileSync(join(root, file), 'utf8')));
  const mutants =
    chosen.sample === undefined ? all : sampleOf(all, Number(chosen.sample), Number(chosen.seed));
  console.log(`${files.length} files, ${mutants.length} of ${all.length} faults`);
  if (mutants.length === 0) return 0;
  const results = await rounds(mutants, chosen.near);
  const accepted = JSON.parse(
    readFileSync(join(import.meta.dirname, 'accepted.json'), 'utf8'),
  ) as readonly Accepted[];
  return tell(results, accepted) ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => process.exit(1));
process.exitCode = await main();
