import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { ensureBuilt } from '../control-plane/build/go-build.ts';
import { run } from '../control-plane/processes/command.ts';

/**
 * The workflows of GitHub: they are valid, run what is there, and leave no tier out. Nothing here
 * runs them.
 */

const root = join(import.meta.dirname, '..', '..');
const folder = join(root, '.github', 'workflows');
const files = readdirSync(folder).map(name => join(folder, name));

const actionlint = await ensureBuilt({
  name: 'actionlint',
  module: join(import.meta.dirname, 'actionlint'),
  salt: '',
  announcement: 'building actionlint for the tests, half a minute,',
  build: (to, go) =>
    go([
      'build',
      '-o',
      join(to, 'actionlint'),
      '-ldflags',
      '-s -w',
      'github.com/rhysd/actionlint/cmd/actionlint',
    ]),
});
const skip = actionlint.kind === 'ready' ? false : `actionlint left out: ${actionlint.why}`;

type Step = { readonly run?: string; readonly uses?: string };
type Job = {
  readonly 'timeout-minutes'?: number;
  readonly strategy?: { readonly matrix?: { readonly tier?: readonly string[] } };
  readonly steps: readonly Step[];
};
type Workflow = { readonly permissions?: unknown; readonly jobs: Readonly<Record<string, Job>> };

const { tiers } = (await import(join(root, 'scripts', 'tiers.mjs'))) as {
  readonly tiers: readonly { readonly name: string }[];
};
const workflows = files.map(file => parse(readFileSync(file, 'utf8')) as Workflow);
const jobs = workflows.flatMap(workflow => Object.values(workflow.jobs));
const steps = jobs.flatMap(job => job.steps);

test('actionlint finds nothing', { skip }, async () => {
  const program = actionlint.kind === 'ready' ? join(actionlint.folder, 'actionlint') : '';
  const { code, stdout, stderr } = await run(program, ['-no-color', ...files]);
  assert.deepEqual([code, stdout, stderr], [0, '', '']);
});

test('every job has a time limit, no workflow has more rights than it says, and every action is pinned by its commit', () => {
  for (const workflow of workflows) assert.deepEqual(workflow.permissions, { contents: 'read' });
  for (const job of jobs) assert.ok(Number(job['timeout-minutes']) > 0);
  for (const file of files)
    for (const line of readFileSync(file, 'utf8').split('\n'))
      if (line.includes('uses:'))
        assert.match(line, /uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

test('every script that they run is there, and every tier is run by one of them', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly scripts: object;
  };
  const texts = steps.flatMap(step => step.run ?? []);
  const asked = texts.flatMap(text =>
    [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name ?? ''),
  );
  assert.ok(asked.length > 2);
  for (const name of asked) assert.ok(name in scripts, name);

  const named = texts.flatMap(text => /npm test -- ([a-z ]+)$/.exec(text)?.[1]?.split(' ') ?? []);
  const covered = new Set([...named, ...jobs.flatMap(job => job.strategy?.matrix?.tier ?? [])]);
  // On the newest release the tier `control plane` runs the same.
  const all = tiers.map(({ name }) => name).filter(name => name !== 'kubernetes 1.37');
  assert.deepEqual([...covered].toSorted(), all.toSorted());
});
