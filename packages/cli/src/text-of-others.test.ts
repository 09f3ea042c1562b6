import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import { crdTexts } from '@drydock/apis/crds';
import { planAnnotation } from '@drydock/core/plan';
import {
  administrator,
  createCluster,
  type EmbeddedCluster,
  load,
  seeded,
  serve,
} from '@drydock/kube-sim';
import { fullObject } from '@drydock/kube-sim/testing';
import { makeAuthority, makeServing } from '@drydock/operator/admission';
import { systemClock } from '@drydock/utils';
import { parse, parseAllDocuments } from 'yaml';
import type { Printed } from './testing/run-commands.ts';

/**
 * Text of others is shown, never obeyed: every command, over objects that have what acts on a
 * terminal in every string of every field.
 */

const forged = 'FORGED';
const marker = `\u001b]0;owned\u0007\u001b[2J\n${forged} row\r\t\u0085\u009b31m\u202e\u2066\u200b\u2028\u00ad\u{e0001}end`;

/** Line breaks that people have typed are their own. */
const typed = marker.replaceAll(/[\n\t]/g, '');

/** What a terminal would obey, or not show, written out: not the code's own pattern. */
const raw = new RegExp(
  String.raw`[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]|\p{Cs}`,
  'u',
);

type Writing = {
  readonly title: string;
  readonly text: (path: string, choices: readonly string[]) => string;
};

const writings: readonly Writing[] = [
  { title: 'fields of free text', text: (_path, choices) => choices[0] ?? marker },
  { title: 'all strings, whatever their schema says', text: () => marker },
];

/** What must be as it is for a command to get this far. */
function fixed(kind: string, name: string, namespaced: boolean): JsonObject {
  const metadata = {
    name,
    uid: `uid-${name}`,
    generation: 1,
    deletionTimestamp: null,
    deletionGracePeriodSeconds: null,
    finalizers: [],
  };
  const inNamespace = {
    ...metadata,
    namespace: namespaced ? (kind === 'MachineMaintenance' ? 'drydock-system' : 'shop') : null,
  };
  const perKind: Readonly<Record<string, JsonObject>> = {
    Node: { metadata: inNamespace },
    Pod: { metadata: inNamespace, spec: { nodeName: 'n1' }, status: { phase: 'Running' } },
    Maintenance: { metadata: inNamespace, spec: { nodeName: 'n1' } },
    NodeMaintenance: { metadata: inNamespace, spec: { nodeName: 'n1' } },
    MaintenancePlan: {
      metadata: inNamespace,
      spec: { nodeSelector: { matchLabels: null, matchExpressions: null }, state: 'Running' },
      status: { observedGeneration: 1, run: { id: '1', revision: 'r' } },
    },
    MaintenancePlanRecord: {
      metadata: { ...inNamespace, labels: { [planAnnotation]: 'n1' } },
      spec: { run: '1', revision: 'r' },
      planUID: 'uid-n1',
    },
    Deployment: { metadata: { ...inNamespace, labels: { 'app.kubernetes.io/name': 'drydock' } } },
  };
  return perKind[kind] ?? { metadata: inNamespace };
}

/** The second over the first, member by member; null takes away. */
function over(value: Json, more: Json): Json {
  if (!isObject(value) || !isObject(more)) return more;
  const changed = Object.entries(more).map(
    ([key, one]) => [key, over(value[key] ?? {}, one ?? null)] as const,
  );
  const all: JsonObject = { ...value, ...Object.fromEntries(changed) };
  return Object.fromEntries(Object.entries(all).filter(([, one]) => one !== null));
}

function furnish(cluster: EmbeddedCluster, { text }: Writing): void {
  load(
    cluster.registry,
    [
      ...crdTexts([
        'drydock.dev',
        'nodemaintenance.medik8s.io',
        'machinemaintenance.managed.openshift.io',
      ]),
    ].map(crd => parse(crd) as JsonObject),
  );
  const kinds = cluster.registry.kinds
    .all()
    .filter(
      ({ kind, group }) =>
        kind !== 'CustomResourceDefinition' &&
        group !== 'apiregistration.k8s.io' &&
        group !== 'admissionregistration.k8s.io',
    );
  const objects = kinds.flatMap(kind => {
    const whole = fullObject(kind, text);
    const nobody = over(whole, {
      metadata: {
        name: marker,
        namespace: kind.namespaced ? marker : null,
        deletionTimestamp: null,
      },
    });
    return [
      over(whole, fixed(kind.kind, 'n1', kind.namespaced)),
      over(nobody, { ...(kind.kind === 'Pod' && { spec: { nodeName: 'n1' } }) }),
    ] as JsonObject[];
  });
  load(cluster.registry, objects);
}

const textCommands: readonly (readonly string[])[] = [
  ['status'],
  ['status', '-A'],
  ['status', '-n', 'shop', '-o', 'wide'],
  ['status', 'n1', '-A', '-o', 'wide'],
  ['why', 'n1'],
  ['why', 'shop/n1'],
  ['why', 'no-such'],
  ['why', marker],
  ['windows'],
  ['windows', 'n1'],
  ['check'],
  ['version'],
  ['plan', 'status'],
  ['plan', 'status', '-o', 'wide'],
  ['plan', 'status', 'n1', '--nodes'],
  ['plan', 'status', 'no-such'],
  ['plan', 'history', 'n1'],
  ['plan', 'history', 'n1', '--run', '1'],
  ['plan', 'history', 'n1', '--run', marker],
  ['plan', 'approve', 'n1'],
  ['plan', 'promote', 'n1'],
  ['plan', 'retry', 'n1', '--failed'],
  ['plan', 'skip', 'n1', 'n1', '--reason', marker],
  ['plan', 'next', 'n1', 'n1'],
  ['plan', 'pause', 'n1'],
  ['plan', 'resume', 'n1'],
  ['plan', 'rerun', 'n1'],
  ['plan', 'undo', 'n1'],
  ['plan', 'abort', 'n1'],
  ['plan', 'halt', '--reason', marker],
  ['plan', 'create', marker, '-l', 'a=b', '--image', 'x', '--dry-run', 'client'],
  ['plan', 'import', 'IMPORTED'],
  ['rehearse', 'n1', '--seeds', '1', '--horizon', '1m'],
  ['plan', 'rehearse', 'n1', '--seeds', '1', '--horizon', '1m'],
  ['drain', 'n1', '--dry-run=client'],
  ['drain', 'n1', '--dry-run=server', '--force', '--ignore-daemonsets', '--delete-emptydir-data'],
  ['drain', marker],
  ['cordon', 'n1'],
  ['uncordon', 'n1'],
  ['maintain', 'n1', '--reason', marker],
  ['release', 'n1', '--no-wait'],
  ['release', 'n1', '--no-wait', '--all'],
  ['snapshot', 'FOLDER/copy'],
  ['support-bundle', 'FOLDER/bundle.tar.gz'],
  ['__complete', 'drain', ''],
  ['drain', `--no-such-${typed}`],
  [typed],
];

const machineCommands: readonly (readonly string[])[] = ['json', 'yaml'].flatMap(format => [
  ['status', '-A', '-o', format],
  ['plan', 'status', '-o', format],
  ['plan', 'status', 'n1', '--nodes', '-o', format],
  ['plan', 'history', 'n1', '-o', format],
  ['plan', 'create', 'p', '-l', 'a=b', '--image', marker, '--dry-run', 'client', '-o', format],
]);
const jsonCommands: readonly (readonly string[])[] = [
  ['windows', '-o', 'json'],
  ['check', '-o', 'json'],
  ['version', '-o', 'json'],
  ['rehearse', 'n1', '--seeds', '1', '--horizon', '1m', '-o', 'json'],
];

const imported = {
  apiVersion: 'upgrade.cattle.io/v1',
  kind: 'Plan',
  metadata: { name: marker },
  spec: {
    nodeSelector: { matchLabels: { a: 'b' } },
    concurrency: 1,
    version: marker,
    channel: marker,
    serviceAccountName: marker,
    upgrade: { image: 'a/b', args: [marker], envs: [{ name: 'A', value: marker }] },
  },
};

async function runAll(
  commands: readonly (readonly string[])[],
  kubeconfig: string,
  folder: string,
): Promise<readonly Printed[]> {
  const child = fork(join(import.meta.dirname, 'testing', 'run-commands.ts'), {
    env: { ...process.env, KUBECONFIG: kubeconfig, HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    timeout: 240_000,
  });
  const all: Printed[] = [];
  let err = '';
  child.stderr?.on('data', (chunk: Buffer) => (err += String(chunk)));
  child.on('message', (printed: Printed) => void all.push(printed));
  child.send(commands);
  await once(child, 'close');
  assert.equal(all.length, commands.length, `after ${commands[all.length - 1]?.join(' ')}: ${err}`);
  return all;
}

function inFolder(args: readonly string[], folder: string): readonly string[] {
  return args.map(arg =>
    arg.replace('FOLDER', folder).replace('IMPORTED', join(folder, 'imported.json')),
  );
}

type Tls = { readonly cert: string; readonly key: string };

/** Something like an API server in front of the commands. No token goes over plain HTTP. */
async function withServer(
  listen: (tls: Tls) => Promise<{ readonly url: string; close(): Promise<void> }>,
  work: (kubeconfig: string, folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'drydock-others-'));
  const authority = await makeAuthority(systemClock.now());
  const serving = await listen(await makeServing(authority, ['127.0.0.1'], systemClock.now()));
  const config = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace: 'shop' } }],
    clusters: [
      {
        name: 'c',
        cluster: {
          server: serving.url,
          'certificate-authority-data': Buffer.from(authority.cert).toString('base64'),
        },
      },
    ],
    users: [{ name: 'u', user: { token: 't' } }],
  };
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, JSON.stringify(config));
  writeFileSync(join(folder, 'imported.json'), JSON.stringify(imported));
  try {
    await work(kubeconfig, folder);
  } finally {
    await serving.close();
    rmSync(folder, { recursive: true });
  }
}

function withWriting(
  writing: Writing,
  work: (kubeconfig: string, folder: string) => Promise<void>,
): Promise<void> {
  return withServer(({ cert, key }) => {
    const cluster = createCluster({ clock: systemClock, random: seeded(1) });
    furnish(cluster, writing);
    return serve(cluster, { tokens: { t: administrator }, tls: { certificate: cert, key } });
  }, work);
}

/** Whatever is asked, it is refused in these words. */
async function refuseAll(
  status: number,
  tls: Tls,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const body = JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code: status,
    reason: marker,
    message: marker,
  });
  const server = createServer(
    tls,
    (_incoming, outgoing) =>
      void outgoing.writeHead(status, { 'content-type': 'application/json' }).end(body),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** As it begins where it is shown. */
const begins = '^[]0;owned^G^[[2J\\nFORGED row';

function isObeyedByNone(all: readonly Printed[]): void {
  for (const { args, out, err } of all) {
    const told = `${out}${err}`;
    const title = JSON.stringify(args);
    assert.equal(
      raw.exec(told.replaceAll('\n', ''))?.[0],
      undefined,
      `${title}: ${JSON.stringify(told.slice(0, 2000))}`,
    );
    assert.ok(
      !told.split('\n').some(line => line.trimStart().startsWith(forged)),
      `${title}: ${told}`,
    );
    assert.doesNotMatch(err, /^\s+at /m, title);
  }
}

for (const writing of writings)
  describe(`no command obeys what stands in ${writing.title}`, { timeout: 300_000 }, () => {
    test('nothing of it acts on a terminal, in results and in errors', () =>
      withWriting(writing, async (kubeconfig, folder) => {
        const all = await runAll(
          textCommands.map(args => inFolder(args, folder)),
          kubeconfig,
          folder,
        );
        isObeyedByNone(all);
        const showing = all.filter(({ out, err }) => `${out}${err}`.includes(begins));
        assert.ok(showing.length > 15, `it is shown by ${showing.length} commands`);
      }));

    test('documents for programs have it in escapes, and are the same values', () =>
      withWriting(writing, async (kubeconfig, folder) => {
        for (const { args, out, err } of await runAll(
          [...machineCommands, ...jsonCommands],
          kubeconfig,
          folder,
        )) {
          const title = JSON.stringify(args);
          assert.equal(
            raw.exec(`${out}${err}`.replaceAll('\n', ''))?.[0],
            undefined,
            `${title}: ${JSON.stringify(out.slice(0, 2000))}`,
          );
          assert.notEqual(out, '', `${title}: ${err}`);
          const [first] = args.includes('yaml') ? parseAllDocuments(out) : [];
          assert.deepEqual(first?.errors ?? [], [], title);
          const value: unknown = first === undefined ? JSON.parse(out) : first.toJS();
          if (args[0] === 'status' || args[1] === 'create')
            assert.ok(JSON.stringify(value).includes(JSON.stringify(marker).slice(1, -1)), title);
        }
      }));
  });

describe('no command obeys what stands in an error of the API server', { timeout: 300_000 }, () => {
  for (const status of [403, 422])
    test(`${status}: its message is shown`, () =>
      withServer(
        tls => refuseAll(status, tls),
        async (kubeconfig, folder) => {
          const commands = [...textCommands, ...machineCommands].map(args =>
            inFolder(args, folder),
          );
          const all = await runAll(commands, kubeconfig, folder);
          isObeyedByNone(all);
          const telling = all.filter(({ err }) => err.includes(begins));
          assert.ok(telling.length > 20, `${telling.length} commands tell it`);
        },
      ));
});

test('drydock status shows the MachineMaintenances of other namespaces only when asked', () =>
  withWriting(
    {
      title: '',
      text: (path, choices) =>
        choices[0] ?? (path === 'spec.machineRef.name' ? 'of-a-tenant' : 'text'),
    },
    async (kubeconfig, folder) => {
      const [plain, all, own] = await runAll(
        [['status'], ['status', '-A'], ['status', '-n', marker]],
        kubeconfig,
        folder,
      );
      assert.equal(plain?.out.match(/^of-a-tenant +/gm)?.length, 1);
      assert.match(
        plain?.err ?? '',
        /^1 object of other namespaces not shown; --all-namespaces shows them$/m,
      );
      assert.equal(all?.out.match(/^of-a-tenant +/gm)?.length, 2);
      assert.equal(all?.err, '');
      assert.equal(own?.out.match(/^of-a-tenant +/gm)?.length, 1);
    },
  ));

test('only one file writes to the streams of the process', () => {
  const root = import.meta.dirname;
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    name => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.startsWith('testing'),
  );
  const writing = files.filter(name =>
    /std(out|err)\b[^\n]*\.write\b|\bstd(out|err)\.write|\} = process\b|console\./.test(
      readFileSync(join(root, name), 'utf8'),
    ),
  );
  assert.deepEqual(writing, [join('shared', 'output.ts')]);
});
