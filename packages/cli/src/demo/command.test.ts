import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeSummary, Scene } from '@drydock/dashboard';

const main = join(import.meta.dirname, '..', 'main.mjs');

type Started = {
  readonly child: ChildProcess;
  readonly lines: readonly string[];
  readonly kubeconfig: string;
};

/** What the dashboard is told, and what it may ask for, with its link. */
function pageAt(link: string) {
  const { origin, hash } = new URL(link);
  const headers = { authorization: `Bearer ${hash.slice(1)}`, 'content-type': 'application/json' };
  return {
    scene: async (): Promise<Scene> =>
      (
        (await (await fetch(`${origin}/api/scene`, { headers })).json()) as {
          readonly scene: Scene;
        }
      ).scene,
    announce: async (node: string, what: string): Promise<number> =>
      (
        await fetch(`${origin}/api/announce`, {
          method: 'POST',
          headers,
          body: JSON.stringify({ node, what }),
        })
      ).status,
  };
}

/** Starts the demo and waits until it has said everything. */
async function started(...flags: readonly string[]): Promise<Started> {
  const child = spawn(process.execPath, [main, 'demo', ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8');
  for await (const chunk of child.stdout.iterator({
    destroyOnReturn: false,
  }) as AsyncIterable<string>) {
    text += chunk;
    if (text.includes('Ctrl-C')) break;
  }
  const lines = text.trimEnd().split('\n');
  return { child, lines, kubeconfig: /KUBECONFIG=(\S+)/.exec(text)?.[1] ?? '' };
}

async function stopped({ child }: Started): Promise<number> {
  const ended = once(child, 'exit') as Promise<[number]>;
  child.kill('SIGINT');
  return (await ended)[0];
}

function drydock(
  kubeconfig: string,
  ...args: readonly string[]
): { readonly status: number | null; readonly text: string } {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [main, ...args, '--kubeconfig', kubeconfig],
    { encoding: 'utf8' },
  );
  return { status, text: stdout + stderr };
}

test('the demo says in ten lines where everything is, drains a node by itself, obeys, and leaves nothing', {
  timeout: 60_000,
}, async () => {
  const demo = await started('--port=0');
  try {
    assert.equal(demo.lines.length, 10, demo.lines.join('\n'));
    const page = /http:\S+/.exec(demo.lines[1] ?? '')?.[0] ?? '';
    assert.equal((await fetch(page)).status, 200);
    // The one that it begins by itself has a pod on its node that may never go.
    while (!/worker-[34] .*Draining/.test(drydock(demo.kubeconfig, 'status').text));
    const { status, text } = drydock(
      demo.kubeconfig,
      'maintain',
      'worker-1',
      '--force',
      '--delete-emptydir-data',
      '--wait',
    );
    assert.equal(status, 0, text);
    assert.equal(drydock(demo.kubeconfig, 'release', 'worker-1').status, 0);
  } finally {
    assert.equal(await stopped(demo), 0);
  }
  assert.ok(demo.kubeconfig !== '' && !existsSync(demo.kubeconfig));
});

test('a host that is retired: its machine is drained and replaced, the node goes, another one comes, and nothing is left', {
  timeout: 120_000,
}, async () => {
  const demo = await started('--port=0');
  try {
    const page = pageAt(/http:\S+/.exec(demo.lines[1] ?? '')?.[0] ?? '');
    const until = async (holds: (scene: Scene) => boolean): Promise<Scene> => {
      for (;;) {
        const scene = await page.scene();
        if (holds(scene)) return scene;
        await sleep(200);
      }
    };
    await until(
      ({ pods }) =>
        pods.length >= 39 && pods.every(({ phase }) => phase !== 'pending' && phase !== 'starting'),
    );
    assert.equal(await page.announce('worker-1', 'retirement'), 201);
    assert.equal(await page.announce('worker-1', 'reboot'), 409, 'one thing at a time');
    assert.equal(await page.announce('control-1', 'retirement'), 409, 'it is nobody’s machine');
    const announced = await until(({ machines }) => machines.length > 0);
    assert.deepEqual(
      announced.machines.map(({ node, announced }) => [node, announced.map(({ kind }) => kind)]),
      [['worker-1', ['retirement']]],
    );
    const isFresh = ({ key, ready, taints, cordoned }: NodeSummary): boolean =>
      key.startsWith('worker-north-') && ready === 'yes' && taints.length === 0 && !cordoned;
    const scene = await until(
      ({ nodes, machines }) =>
        machines.every(({ over }) => over) && nodes.some(isFresh) && nodes.length === 9,
    );
    assert.deepEqual(
      scene.machines.map(({ phase }) => phase),
      ['Succeeded'],
    );
    assert.equal(scene.nodes.filter(({ zone }) => zone === 'north').length, 3);
    assert.ok(!scene.nodes.some(({ key }) => key === 'worker-1'));
    const left = scene.nodes.filter(
      ({ key, holds, cordoned }) => !/^worker-[34]$/.test(key) && (holds.length > 0 || cordoned),
    );
    assert.deepEqual(left, [], 'but for the one that the demo drains by itself');
  } finally {
    assert.equal(await stopped(demo), 0);
  }
});

test('an empty one is a cluster and nothing else', { timeout: 60_000 }, async () => {
  const demo = await started('--empty');
  try {
    const { status, text } = drydock(demo.kubeconfig, 'maintain', 'nobody');
    assert.equal(status, 1);
    assert.match(text, /nodes "nobody" not found/);
    assert.match(readFileSync(demo.kubeconfig, 'utf8'), /"namespace":"default"/);
  } finally {
    assert.equal(await stopped(demo), 0);
  }
});
