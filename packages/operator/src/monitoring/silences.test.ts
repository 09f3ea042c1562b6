import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { type Log, silentLog, VirtualClock } from '@drydock/utils';
import { type Answer, type ServedRequest, serving } from '@drydock/utils/testing';
import type { AlertSilencer } from '../ports.ts';
import { openMonitoring } from './sources.ts';
import { readMonitoringConfig } from './sources-file.ts';

/**
 * Silences for held nodes, against an Alertmanager that keeps them as the real one does; the real
 * one is in test/integrations/monitoring.
 */

const folder = mkdtempSync(join(tmpdir(), 'drydock-silences-'));
after(() => rmSync(folder, { recursive: true }));
const { signal } = new AbortController();
const began = Temporal.Instant.from('2026-11-21T08:00:00Z');

type Stored = JsonObject & {
  readonly id: string;
  readonly comment: string;
  readonly endsAt: string;
};

/** What it keeps, and the answers of its API. */
class Alertmanager {
  readonly silences = new Map<string, Stored>();
  readonly clock: VirtualClock;
  status = 200;
  #count = 0;

  constructor(clock: VirtualClock) {
    this.clock = clock;
  }

  readonly answer = ({ method, path, body }: ServedRequest): Answer => {
    if (this.status !== 200) return { status: this.status, text: '"down"' };
    if (method === 'GET')
      return {
        text: JSON.stringify(
          [...this.silences.values()].map(one => ({ ...one, status: { state: this.#state(one) } })),
        ),
      };
    if (method === 'DELETE') {
      this.silences.delete(path.split('/').at(-1) ?? '');
      return { text: '' };
    }
    const silence = JSON.parse(body) as Stored;
    this.#count += 1;
    const before = this.silences.get(silence.id);
    const isSame =
      before !== undefined &&
      ['startsAt', 'matchers'].every(
        key => JSON.stringify(before[key]) === JSON.stringify(silence[key]),
      );
    if (!isSame) this.silences.delete(silence.id);
    const id = isSame ? silence.id : `id-${this.#count}`;
    this.silences.set(id, { ...silence, id });
    return { text: JSON.stringify({ silenceID: id }) };
  };

  /** Of those in force: what they match, by the node of their comment. */
  get inForce(): readonly string[] {
    return [...this.silences.values()]
      .filter(one => this.#state(one) === 'active')
      .map(({ comment }) => comment.split(' ')[1] ?? '');
  }

  #state({ endsAt }: Stored): string {
    return Temporal.Instant.compare(Temporal.Instant.from(endsAt), this.clock.now()) > 0
      ? 'active'
      : 'expired';
  }
}

type Bench = {
  readonly alertmanager: Alertmanager;
  readonly clock: VirtualClock;
  readonly asked: readonly ServedRequest[];
  readonly logged: readonly string[];
  /** Another process, which knows nothing of what the one before has done. */
  readonly begin: () => AlertSilencer;
};

async function bench(silences: string, use: (bench: Bench) => Promise<void>): Promise<void> {
  const clock = new VirtualClock(began);
  const alertmanager = new Alertmanager(clock);
  await using server = await serving(alertmanager.answer);
  const file = join(folder, 'sources.yaml');
  writeFileSync(
    file,
    `sources: [{kind: alertmanager, url: "${server.base}", silences: ${silences}}]`,
  );
  const logged: string[] = [];
  const line = (text: string): void => void logged.push(text);
  const log: Log = { ...silentLog, info: line, warn: line };
  await use({
    alertmanager,
    clock,
    asked: server.asked,
    logged,
    begin: () => openMonitoring(file, { clock, log }),
  });
}

function names(...nodes: readonly string[]): ReadonlySet<string> {
  return new Set(nodes);
}

test('each held node has one silence, which is renewed as long as it is held and ends with that', async () => {
  await bench('{cluster: berlin, lease: 10m}', async ({ alertmanager, clock, begin, asked }) => {
    const silencer = begin();
    assert.equal(await silencer.silence(names('n1', 'n2'), signal), 60_000);
    assert.deepEqual(alertmanager.inForce, ['n1', 'n2']);
    const [first] = [...alertmanager.silences.values()];
    assert.deepEqual(
      [first?.['matchers'], first?.['createdBy'], first?.endsAt],
      [
        [{ name: 'node', value: 'n1', isRegex: false, isEqual: true }],
        'drydock',
        '2026-11-21T08:10:00Z',
      ],
    );
    for (let minutes = 0; minutes < 60; minutes += 1) {
      await clock.advance(60_000);
      await silencer.silence(names('n1', 'n2'), signal);
      assert.deepEqual(alertmanager.inForce, ['n1', 'n2']);
    }
    assert.deepEqual(
      [...alertmanager.silences.keys()].includes(first?.id ?? ''),
      true,
      'they are renewed, not made anew',
    );
    assert.ok(asked.filter(({ method }) => method === 'POST').length < 30);
    await silencer.silence(names('n2'), signal);
    assert.deepEqual(alertmanager.inForce, ['n2']);
  });
});

test('another process takes over what one has left, and what nobody takes over ends by itself', async () => {
  await bench('{lease: 10m}', async ({ alertmanager, clock, begin }) => {
    await begin().silence(names('n1', 'n2'), signal);
    await clock.advance(120_000);
    await begin().silence(names('n2', 'n3'), signal);
    assert.deepEqual(alertmanager.inForce, ['n2', 'n3']);
    await clock.advance(600_000);
    assert.deepEqual(alertmanager.inForce, []);
  });
});

test('silences of others stay: of people, of another cluster, and what only looks like ours', async () => {
  await bench('{cluster: berlin}', async ({ alertmanager, begin }) => {
    const other = {
      matchers: [],
      startsAt: began.toString(),
      endsAt: '2027-01-01T00:00:00Z',
      createdBy: 'drydock',
    };
    const comment = (cluster: string): string =>
      `Node n9 is out of service for a maintenance of Drydock (cluster ${cluster})`;
    alertmanager.silences.set('paris', { ...other, id: 'paris', comment: comment('paris') });
    alertmanager.silences.set('person', {
      ...other,
      id: 'person',
      comment: comment('berlin'),
      createdBy: 'somebody',
    });
    alertmanager.silences.set('words', {
      ...other,
      id: 'words',
      comment: `see ${comment('berlin')}`,
    });
    const silencer = begin();
    await silencer.silence(names(), signal);
    assert.deepEqual([...alertmanager.silences.keys()], ['paris', 'person', 'words']);
  });
});

test('whoever ends the silence of a held node has the last word, until the node is held again', async () => {
  await bench('{lease: 10m}', async ({ alertmanager, begin, logged }) => {
    const silencer = begin();
    await silencer.silence(names('n1'), signal);
    alertmanager.silences.clear();
    for (let times = 0; times < 3; times += 1) await silencer.silence(names('n1'), signal);
    assert.deepEqual([alertmanager.inForce, logged.length], [[], 1]);
    await silencer.silence(names(), signal);
    await silencer.silence(names('n1'), signal);
    assert.deepEqual(alertmanager.inForce, ['n1']);
  });
});

test('a name is a name, whatever stands in it; in a regular expression too', async () => {
  await bench(
    `{matchers: ['node="{{node}}"', 'instance=~"{{node}}(:.*)?"', 'severity!="critical"']}`,
    async ({ alertmanager, begin }) => {
      await begin().silence(names('a.b$&c'), signal);
      const [silence] = [...alertmanager.silences.values()];
      assert.deepEqual(silence?.['matchers'], [
        { name: 'node', value: 'a.b$&c', isRegex: false, isEqual: true },
        { name: 'instance', value: 'a\\.b\\$\\&c(:.*)?', isRegex: true, isEqual: true },
        { name: 'severity', value: 'critical', isRegex: false, isEqual: false },
      ]);
    },
  );
});

test('an Alertmanager that does not answer is told once, and asked again', async () => {
  await bench('{lease: 10m}', async ({ alertmanager, begin, logged }) => {
    const silencer = begin();
    alertmanager.status = 500;
    for (let times = 0; times < 3; times += 1)
      assert.equal(await silencer.silence(names('n1'), signal), 60_000);
    alertmanager.status = 200;
    await silencer.silence(names('n1'), signal);
    assert.deepEqual(alertmanager.inForce, ['n1']);
    assert.deepEqual(logged, [
      'failed to update the silences for held nodes; retrying',
      'silences for held nodes are updated again',
    ]);
  });
});

const wrong: readonly (readonly [what: string, source: string, says: RegExp])[] = [
  [
    'no matcher with the node',
    `kind: alertmanager, silences: {matchers: ['severity="page"']}`,
    /has no = or =~ with \{\{node\}\}: every alert would be silent/,
  ],
  [
    'the node in a negation only',
    `kind: alertmanager, silences: {matchers: ['node!="{{node}}"']}`,
    /every alert would be silent/,
  ],
  [
    'no matcher at all',
    `kind: alertmanager, silences: {matchers: [node]}`,
    /is no matcher, such as node="\{\{node\}\}"/,
  ],
  ['a lease too short', `kind: alertmanager, silences: {lease: 5s}`, /is no duration from 60 s/],
  [
    'a Prometheus',
    `kind: prometheus, silences: {}`,
    /silences in .* is for sources of kind alertmanager/,
  ],
];

for (const [what, source, says] of wrong) {
  test(`the file: ${what}`, () => {
    const file = join(folder, 'wrong.yaml');
    writeFileSync(file, `sources: [{url: "http://x", ${source}}]`);
    assert.throws(() => readMonitoringConfig(file), { name: 'ConfigFileError', message: says });
  });
}
