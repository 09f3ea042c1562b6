import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { JsonObject, KubeEvent } from '@drydock/apimachinery';
import { type Log, PanicHandler, silentLog, VirtualClock } from '@drydock/utils';
import { type Answer, type ServedRequest, serving } from '@drydock/utils/testing';
import { Notifier, readReceivers } from './notifier.ts';

/**
 * Whoever is notified is somebody else's server: it may refuse, be slow or lie, and nothing waits
 * for it.
 */

const folder = mkdtempSync(join(tmpdir(), 'drydock-notifications-'));
after(() => rmSync(folder, { recursive: true }));
const secret = 'T0K3N-of-a-webhook';

function event(over: Partial<KubeEvent> = {}, kind = 'MaintenancePlan'): KubeEvent {
  return {
    type: 'Warning',
    reason: 'Halted',
    message: 'Halted: 2 nodes <failed> & more',
    component: 'drydock',
    about: {
      apiVersion: 'drydock.dev/v1alpha1',
      kind,
      name: 'kernel',
      uid: 'u1',
      resourceVersion: '7',
    },
    ...over,
  };
}

type Bench = {
  readonly notifier: Notifier;
  readonly clock: VirtualClock;
  readonly asked: readonly ServedRequest[];
  readonly counted: readonly string[];
  readonly logged: readonly string[];
  /** Turns the clock by seconds, and lets calls over the network end meanwhile. */
  readonly pass: (seconds: number) => Promise<void>;
  readonly write: (receivers: string) => void;
};

async function bench(
  receivers: (base: string) => string,
  answer: (asked: ServedRequest) => Answer,
  use: (bench: Bench) => Promise<void>,
): Promise<void> {
  await using server = await serving(answer);
  const file = join(folder, 'receivers.yaml');
  const write = (text: string): void => writeFileSync(file, `receivers:\n${text}`);
  write(receivers(server.base));
  const clock = new VirtualClock(Temporal.Instant.from('2026-11-21T08:00:00Z'));
  const counted: string[] = [];
  const logged: string[] = [];
  const line = (text: string, fields?: object): void =>
    void logged.push(`${text} ${JSON.stringify(fields)}`);
  const log: Log = { ...silentLog, info: line, warn: line };
  const meter = {
    notified: (receiver: string, result: string) => void counted.push(`${receiver} ${result}`),
  };
  const pass = async (seconds: number): Promise<void> => {
    await new Promise(resolve => setTimeout(resolve, 60));
    await clock.advance(1000 * seconds);
    await new Promise(resolve => setTimeout(resolve, 60));
  };
  await use({
    notifier: new Notifier(file, { clock, log, defects: new PanicHandler({ log }), meter }),
    clock,
    asked: server.asked,
    counted,
    logged,
    pass,
    write,
  });
  assert.doesNotMatch(logged.join('\n'), new RegExp(secret));
}

function bodyOf(asked: ServedRequest | undefined): JsonObject {
  return JSON.parse(asked?.body ?? '{}') as JsonObject;
}
function ok(): Answer {
  return { status: 202, text: 'ok' };
}

describe('what is sent', () => {
  test('a CloudEvent of the structured mode, with an id that stays the same when it is tried again', async () => {
    let failing = true;
    const receivers = (base: string): string =>
      `- {kind: cloudevents, url: "${base}/in", source: /clusters/a, on: [all]}`;
    await bench(
      receivers,
      () => ({ status: failing ? 503 : 200, text: '' }),
      async ({ notifier, asked, pass, counted, logged }) => {
        notifier.record(event({ about: { ...event().about, namespace: 'team' } }));
        await pass(0);
        failing = false;
        await pass(2);
        const [first, second] = asked;
        assert.deepEqual(
          [first?.method, first?.path, first?.headers['content-type']],
          ['POST', '/in', 'application/cloudevents+json; charset=utf-8'],
        );
        assert.equal(first?.body, second?.body);
        const { id, data, ...rest } = bodyOf(first);
        assert.ok(typeof id === 'string' && /^[0-9a-f]{32}$/.test(id), 'an id');
        assert.deepEqual(rest, {
          specversion: '1.0',
          source: '/clusters/a',
          type: 'dev.drydock.maintenanceplan.halted',
          subject: 'team/kernel',
          time: '2026-11-21T08:00:00Z',
          datacontenttype: 'application/json',
        });
        assert.equal((data as JsonObject)['message'], 'Halted: 2 nodes <failed> & more');
        assert.deepEqual([counted, logged], [['default sent'], []]);
      },
    );
  });

  test('chats get the words of the template, and nothing in them is markup', async () => {
    const receivers = (base: string): string => `
- {name: slack, kind: slack, url: "${base}/s", template: "*{{kind}}* {{ name }}: {{message}} ({{reason}}, {{time}})"}
- {name: teams, kind: teams, url: "${base}/t", authorization: {credentials_file: token}}`;
    writeFileSync(join(folder, 'token'), secret);
    await bench(receivers, ok, async ({ notifier, asked, pass }) => {
      notifier.record(event());
      await pass(0);
      const of = (path: string): ServedRequest | undefined => asked.find(one => one.path === path);
      assert.equal(
        bodyOf(of('/s'))['text'],
        '*MaintenancePlan* kernel: Halted: 2 nodes &lt;failed&gt; &amp; more (Halted, 2026-11-21T08:00:00Z)',
      );
      assert.match(
        of('/t')?.body ?? '',
        /"type":"TextRun","text":"MaintenancePlan kernel: Halted: Halted: 2 nodes <failed> & more"/,
      );
      assert.equal(of('/t')?.headers.authorization, `Bearer ${secret}`);
    });
  });

  test('what people have written acts on no terminal, is one line, and does not hide in a chat', async () => {
    const receivers = (base: string): string =>
      ['slack', 'teams', 'cloudevents']
        .map(kind => `\n- {name: ${kind}, kind: ${kind}, url: "${base}/${kind}"}`)
        .join('');
    await bench(receivers, ok, async ({ notifier, asked, pass }) => {
      notifier.record(
        event({ message: 'new disk\u001b]0;x\u0007\nplan kernel: Complete\u202e\u200b\u2028' }),
      );
      await pass(0);
      assert.equal(asked.length, 3);
      for (const { path, body } of asked) {
        assert.match(
          body,
          /new disk\^\[\]0;x\^G\\\\nplan kernel: Complete\\\\u202e\\\\u200b\\\\u2028/,
          path,
        );
        assert.doesNotMatch(body, /\\u001b|\\u0007|[^\\]\\n|[\u202e\u200b\u2028]/, path);
      }
    });
  });

  test('each receiver gets what it asks for: groups, or kinds with reasons', async () => {
    const receivers = (base: string): string => `
- {name: plans, kind: slack, url: "${base}/plans", on: [plans]}
- {name: blocked, kind: slack, url: "${base}/blocked", on: [blocked]}
- {name: one, kind: slack, url: "${base}/one", on: [MaintenancePlan/NodeDone, announcements]}`;
    await bench(receivers, ok, async ({ notifier, asked, pass }) => {
      notifier.record(event());
      notifier.record(event({ reason: 'NodeDone', type: 'Normal' }));
      notifier.record(event({ reason: 'DrainBlocked' }, 'Maintenance'));
      notifier.record(event({ reason: 'NodeDrained', type: 'Normal' }, 'Maintenance'));
      notifier.record(event({ reason: 'Scheduled', type: 'Normal' }, 'MachineMaintenance'));
      await pass(0);
      const told = asked
        .map(({ path, body }) => `${path} ${/: (\w+): /.exec(body)?.[1] ?? ''}`)
        .toSorted();
      assert.deepEqual(told, [
        '/blocked DrainBlocked',
        '/one NodeDone',
        '/one Scheduled',
        '/plans Halted',
      ]);
    });
  });

  test('the same is told once in ten minutes', async () => {
    await bench(
      base => `- {kind: slack, url: "${base}/s"}`,
      ok,
      async ({ notifier, asked, pass }) => {
        for (let times = 0; times < 5; times += 1) notifier.record(event());
        await pass(599);
        notifier.record(event());
        await pass(0);
        assert.equal(asked.length, 1);
        await pass(2);
        notifier.record(event());
        await pass(0);
        assert.equal(asked.length, 2);
      },
    );
  });
});

describe('receivers that misbehave', () => {
  const slack = (base: string): string =>
    `- {kind: slack, url_file: address, timeout: 2s}\n# ${base}`;
  const withAddress = async (
    answer: (asked: ServedRequest) => Answer,
    use: (bench: Bench) => Promise<void>,
  ): Promise<void> =>
    bench(
      base => {
        writeFileSync(join(folder, 'address'), `${base}/hooks/${secret}\n`);
        return slack(base);
      },
      answer,
      use,
    );

  test('one that fails is tried five times, later and later, and then given up; the next one is tried anew', async () => {
    await withAddress(
      () => ({ status: 500, text: secret }),
      async ({ notifier, asked, pass, counted, logged }) => {
        notifier.record(event());
        for (const seconds of [0, 1, 5, 30, 120, 600]) await pass(seconds);
        assert.deepEqual([asked.length, counted], [5, ['default failed']]);
        assert.deepEqual(logged, [
          'failed to send a notification to a receiver; giving up on it {"receiver":"default","why":"HTTP 500"}',
        ]);
        notifier.record(event({ reason: 'Paused' }));
        await pass(0);
        assert.equal(asked.length, 6);
      },
    );
  });

  test('a refusal and a redirect are final; a pause that is asked for is made, within bounds', async () => {
    for (const status of [404, 302]) {
      await withAddress(
        () => ({ status, text: '', headers: { location: 'http://169.254.169.254/' } }),
        async ({ notifier, asked, pass }) => {
          notifier.record(event());
          await pass(0);
          await pass(600);
          assert.equal(asked.length, 1, String(status));
        },
      );
    }
    await withAddress(
      () => ({ status: 429, text: '', headers: { 'retry-after': '100000' } }),
      async ({ notifier, asked, pass }) => {
        notifier.record(event());
        await pass(0);
        await pass(299);
        assert.equal(asked.length, 1);
        await pass(2);
        assert.equal(asked.length, 2);
      },
    );
  });

  test('one that never answers holds up nobody, and too many that wait drop the oldest', async () => {
    await withAddress(
      () => 'hang',
      async ({ notifier, counted, logged }) => {
        for (let number = 0; number < 150; number += 1)
          notifier.record(event({ message: String(number) }));
        assert.equal(counted.filter(one => one === 'default dropped').length, 49);
        assert.match(logged.join(), /too many notifications wait/);
        await notifier.close(0);
      },
    );
  });

  test('nobody listens, or the address is none: no word of it is in the log', async () => {
    await bench(
      () => {
        writeFileSync(join(folder, 'address'), `http://127.0.0.1:1/${secret}`);
        return '- {kind: slack, url_file: address}';
      },
      ok,
      async ({ notifier, pass, logged }) => {
        notifier.record(event());
        for (const seconds of [0, 1, 5, 30, 120, 600]) await pass(seconds);
        assert.match(logged.join(), /"why":"ECONNREFUSED"/);
        writeFileSync(join(folder, 'address'), secret);
        notifier.record(event({ reason: 'Paused' }));
        for (const seconds of [0, 1, 5, 30, 120, 600]) await pass(seconds);
      },
    );
  });

  test('the file is read again; one that is wrong tells nobody until it is mended', async () => {
    await bench(
      base => `- {kind: slack, url: "${base}/a"}`,
      ok,
      async ({ notifier, asked, pass, write, logged }) => {
        write('- {kind: pigeon}');
        await pass(11);
        notifier.record(event());
        await pass(0);
        assert.equal(asked.length, 0);
        assert.match(
          logged.join(),
          /failed to read the file of --notification-config: nobody is notified/,
        );
      },
    );
  });
});

const wrong: readonly (readonly [what: string, text: string, says: RegExp])[] = [
  [
    'a kind that is none',
    '- {kind: pigeon, url: "http://x"}',
    /receivers\[0\]\.kind in .* is none of cloudevents, slack, teams/,
  ],
  [
    'an odd key',
    '- {kind: slack, url: "http://x", colour: red}',
    /receivers\[0\]\.colour in .* is not known here/,
  ],
  ['no address', '- {kind: slack}', /receivers\[0\]\.url in .* is missing/],
  [
    'two addresses',
    '- {kind: slack, url: "http://x", url_file: f}',
    /receivers\[0\]\.url_file in .* cannot be there beside url/,
  ],
  [
    'an odd placeholder',
    '- {kind: slack, url: "http://x", template: "{{secret}}"}',
    /template in .* placeholder that is not known: there are kind, name/,
  ],
  [
    'an odd selector',
    '- {kind: slack, url: "http://x", on: [everything]}',
    /on in .* neither one of plans, blocked, announcements, all nor KIND\/REASON/,
  ],
  [
    'the same name twice',
    '- {kind: slack, url: "http://x"}\n- {kind: teams, url: "http://y"}',
    /receivers in .* has default twice/,
  ],
];

for (const [what, text, says] of wrong) {
  test(`the file: ${what}`, () => {
    const file = join(folder, 'wrong.yaml');
    writeFileSync(file, `receivers:\n${text}\n`);
    assert.throws(() => readReceivers(file), { name: 'ConfigFileError', message: says });
  });
}

test('a file that is not there notifies nobody', () =>
  assert.deepEqual(readReceivers(join(folder, 'none.yaml')), []));
