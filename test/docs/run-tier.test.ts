import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

/**
 * A tier is run by scripts/run-tier.mjs: seen while it runs, counted, cut off in time, its logs
 * kept where it fails.
 */

const root = join(import.meta.dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'drydock-run-tier-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** What a runner of tests tells those below it would make them speak another language. */
const { NODE_TEST_CONTEXT: _told, ...environment } = process.env;

type Result = {
  readonly outcome: string;
  readonly isGreen: boolean;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: string;
  readonly leftOut: readonly string[];
  readonly buildSeconds: number;
  readonly logs?: string;
};

type Limits = {
  readonly minutes?: number;
  readonly usualMinutes?: number;
  readonly colours?: boolean;
};

let made = 0;

/**
 * Runs a file of tests as a tier. Its output comes in pieces, with the milliseconds at which each
 * came.
 */
async function runFile(
  text: string,
  { minutes = 1, usualMinutes = 1, colours = false }: Limits = {},
) {
  made += 1;
  const file = join(folder, `${made}.test.mjs`);
  writeFileSync(file, `import { test } from 'node:test';\n${text}`);
  const tier = {
    name: `made ${made}`,
    files: [file],
    concurrency: 1,
    neighbour: { minutes: usualMinutes },
  };
  const script = `
    import { writeFileSync } from 'node:fs';
    import { runTier } from ${JSON.stringify(join(root, 'scripts', 'run-tier.mjs'))};
    const result = await runTier(process.execPath, ${JSON.stringify(tier)}, ${minutes});
    writeFileSync(${JSON.stringify(`${file}.json`)}, JSON.stringify(result));`;
  const env = { ...environment, TMPDIR: folder, ...(colours && { FORCE_COLOR: '1' }) };
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pieces: { readonly text: string; readonly atMs: number }[] = [];
  child.stdout
    .setEncoding('utf8')
    .on('data', (text: string) => pieces.push({ text, atMs: performance.now() }));
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once('close', () => resolve());
  await promise;
  const result = JSON.parse(readFileSync(`${file}.json`, 'utf8')) as Result;
  return { result, pieces, output: pieces.map(piece => piece.text).join('') };
}

function kept(): readonly string[] {
  return readdirSync(folder).filter(name => name.startsWith('drydock-logs-'));
}

/** A log of something that the tests have started. */
const logged = `
  import { mkdirSync, writeFileSync } from 'node:fs';
  mkdirSync(process.env.DRYDOCK_TEST_LOGS + '/system');
  writeFileSync(process.env.DRYDOCK_TEST_LOGS + '/system/etcd.log', 'why');`;

/** Something is being built from a moment on, for ever. */
const building = `
  import { writeFileSync } from 'node:fs';
  writeFileSync(process.env.DRYDOCK_TEST_LOGS + '/builds/1', String(Date.now()));`;

/** One that has ended may be there as a zombie until somebody asks for its exit code. */
function stateOf(pid: number): string {
  if (!existsSync(`/proc/${pid}/stat`)) return 'gone';
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z') ? 'gone' : stat;
}

const forever = "test('never ends', () => new Promise(resolve => setTimeout(resolve, 60_000)));";

test('what tests do is shown while they do it, and counted, with colours or without', async () => {
  for (const colours of [false, true]) {
    const { result, pieces, output } = await runFile(
      `${logged}
      test('first', () => {});
      test('second', () => new Promise(resolve => setTimeout(resolve, 1500)));
      test('third', { skip: 'real systems left out: none' }, () => {});`,
      { colours },
    );
    assert.deepEqual(
      [result.outcome, result.passed, result.failed, result.skipped],
      ['ended', 2, 0, 1],
      output,
    );
    assert.deepEqual(result.leftOut, ['real systems left out: none']);
    assert.equal(output.includes('\u001b['), colours);
    const [first, second] = ['first', 'second'].map(
      name => pieces.find(({ text }) => text.includes(name))?.atMs ?? 0,
    ) as [number, number];
    assert.ok(first > 0 && second - first > 1000, `${second - first} ms lay between them`);
    assert.deepEqual([result.logs, kept()], [undefined, []]);
  }
});

test('a tier is green when tests of all of its systems have passed, and not when those are left out', async () => {
  const skipped = (why: string): string =>
    `test('good', () => {}); test('other', { skip: ${JSON.stringify(why)} }, () => {});`;
  const newer = 'control plane left out: Kubernetes 1.37 or newer has the kind Eviction';
  const whys = [
    'an hour of maintenances left out: ask for it',
    newer,
    'real nodes left out: no Go',
    'control plane left out: no Go',
  ];
  const greens = whys.map(async why => (await runFile(skipped(why))).result.isGreen);
  assert.deepEqual(await Promise.all(greens), [true, true, false, false]);
  assert.equal(
    (await runFile("test('other', { skip: 'no wish' }, () => {});")).result.isGreen,
    false,
  );
});

test('where a test fails, the failure is told again and the logs of what was started stay', async () => {
  const { result } = await runFile(
    `${logged} test('good', () => {}); test('bad', () => { throw new Error('on purpose'); });`,
  );
  assert.deepEqual([result.outcome, result.passed, result.failed], ['failed', 1, 1]);
  assert.match(result.failures, /✖ failing tests:[^]*✖ bad[^]*on purpose/);
  assert.equal(readFileSync(join(result.logs ?? '', 'system', 'etcd.log'), 'utf8'), 'why');
  rmSync(result.logs ?? '', { recursive: true });
});

test('a file that cannot be loaded is a failure', async () => {
  const { result } = await runFile("throw new Error('no such thing');");
  assert.deepEqual([result.outcome, result.failed], ['failed', 1]);
});

test('what is being built when the time is over has neither passed nor failed, and is ended', async () => {
  const { result, output } = await runFile(
    `${building} console.log('pid', process.pid); test('good', () => {}); ${forever}`,
    {
      minutes: 0.05,
      usualMinutes: 0,
    },
  );
  assert.deepEqual([result.outcome, result.failed, result.failures], ['no time', 0, '']);
  assert.ok(result.buildSeconds > 1, String(result.buildSeconds));
  const pid = Number(/pid (\d+)/.exec(output)?.[1]);
  assert.ok(pid > 0, output);
  if (process.platform === 'linux') assert.equal(stateOf(pid), 'gone');
});

test('tests that had failed by the time that it was cut off have failed', async () => {
  const { result } = await runFile(
    `${building} test('bad', () => { throw new Error('on purpose'); }); ${forever}`,
    { minutes: 0.05 },
  );
  assert.deepEqual([result.outcome, result.failed > 0], ['failed', true]);
});

test('tests that hang are a failure: they have run for more than twice as long as they take', async () => {
  const { result } = await runFile(forever, { minutes: 0.05, usualMinutes: 0.01 });
  assert.deepEqual([result.outcome, result.failed > 0], ['failed', true]);
});

test('what a test file that was killed has left is kept whole', async () => {
  const left = `
    import { mkdirSync, writeFileSync } from 'node:fs';
    import { tmpdir } from 'node:os';
    const folder = tmpdir() + '/drydock-control-plane-' + process.pid + '-made';
    mkdirSync(folder);
    writeFileSync(folder + '/etcd.log', 'why');
    console.log('left', 'drydock-control-plane-' + process.pid + '-made');`;
  const { result, output } = await runFile(`${left} ${forever}`, {
    minutes: 0.05,
    usualMinutes: 0.01,
  });
  assert.equal(result.outcome, 'failed');
  const name = /left (\S+)/.exec(output)?.[1] ?? '';
  assert.equal(readFileSync(join(result.logs ?? '', name, 'etcd.log'), 'utf8'), 'why');
  rmSync(result.logs ?? '', { recursive: true });
});

test('tests that had no time to end after a build have neither passed nor failed', async () => {
  const { result } = await runFile(forever, { minutes: 0.05, usualMinutes: 10 });
  assert.deepEqual([result.outcome, result.failed], ['no time', 0]);
});
