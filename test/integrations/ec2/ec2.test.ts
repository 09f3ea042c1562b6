import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { until } from '../../control-plane/wait.ts';
import { skipOf } from '../builds.ts';
import { type Ec2Emulator, listed, startEc2 } from './ec2.ts';
import { type Element, elementsAt, textAt } from './xml.ts';

/**
 * What EC2 says of scheduled events, as far as Drydock relies on it. The errors are in the words in
 * which other projects have reported them.
 */

const started = await startEc2();
const skip = skipOf(started);
const ec2 = started as Ec2Emulator;

const describeStatus = 'DescribeInstanceStatus';
const unknown = ['i-0123456789abcdef0', 'i-0123456789abcdef1'] as const;
function day(offset: number): Date {
  return new Date(Date.UTC(2030, 0, 1 + offset, 9));
}

async function items(params: Readonly<Record<string, string>> = {}): Promise<readonly Element[]> {
  const answer = await ec2.call(describeStatus, params);
  assert.ok(answer.kind === 'answer', JSON.stringify(answer));
  return elementsAt(answer.root, 'instanceStatusSet/item');
}
function idOf(item: Element): string {
  return textAt(item, 'instanceId') ?? '';
}
function eventsOf(item: Element): readonly Readonly<Record<string, string>>[] {
  return elementsAt(item, 'eventsSet/item').map(({ children }) =>
    Object.fromEntries(children.map(({ name, text }) => [name, text])),
  );
}
async function refusal(params: Readonly<Record<string, string>>): Promise<object> {
  const { kind, ...error } = await ec2.call(describeStatus, params);
  assert.equal(kind, 'error');
  return error;
}

describe('EC2', { skip, timeout: 120_000 }, () => {
  after(() => ec2.stop());

  test('an event has its times in UTC, the optional ones may be missing, and an instance without events has no set of them', async () => {
    const [a = '', b = '', c = ''] = await ec2.runInstances(3);
    const reboot = await ec2.announce(a, {
      code: 'system-reboot',
      notBefore: day(0),
      notAfter: day(1),
      notBeforeDeadline: day(9),
    });
    const stop = await ec2.announce(b, { code: 'instance-stop', notBefore: day(2) });
    const found = new Map(
      (await items(listed('InstanceId', [a, b, c]))).map(item => [idOf(item), item]),
    );
    assert.deepEqual(eventsOf(found.get(a)!), [
      {
        instanceEventId: reboot,
        code: 'system-reboot',
        description: 'The instance is scheduled for a reboot',
        notAfter: '2030-01-02T09:00:00.000Z',
        notBefore: '2030-01-01T09:00:00.000Z',
        notBeforeDeadline: '2030-01-10T09:00:00.000Z',
      },
    ]);
    assert.deepEqual(eventsOf(found.get(b)!), [
      {
        instanceEventId: stop,
        code: 'instance-stop',
        description: 'The instance is running on degraded hardware',
        notBefore: '2030-01-03T09:00:00.000Z',
      },
    ]);
    assert.deepEqual(elementsAt(found.get(c)!, 'eventsSet'), []);
  });

  test('there is no state: what is over stays for a while, and only its description says so', async () => {
    const [id = ''] = await ec2.runInstances(1);
    const done = await ec2.announce(id, { code: 'instance-reboot', notBefore: day(0) });
    const canceled = await ec2.announce(id, { code: 'system-maintenance', notBefore: day(1) });
    const active = await ec2.announce(id, { code: 'instance-retirement', notBefore: day(2) });
    await ec2.completeEvent(done);
    await ec2.cancelEvent(canceled);
    const [item] = await items(listed('InstanceId', [id]));
    assert.deepEqual(
      eventsOf(item!).map(({ instanceEventId, description }) => [instanceEventId, description]),
      [
        [done, '[Completed] The instance is scheduled for a reboot'],
        [canceled, '[Canceled] The instance is scheduled for system maintenance'],
        [active, 'The instance is running on degraded hardware'],
      ],
    );
    await ec2.withdrawEvent(done);
    assert.equal(eventsOf((await items(listed('InstanceId', [id])))[0]!).length, 2);
  });

  test('a filter picks instances, and each comes with all of its events', async () => {
    const [id = ''] = await ec2.runInstances(1);
    await ec2.announce(id, { code: 'instance-retirement', notBefore: day(3) });
    await ec2.announce(id, { code: 'system-reboot', notBefore: day(33) });
    const found = await items({
      'Filter.1.Name': 'event.not-before',
      'Filter.1.Value.1': '2030-02-03T09:00:00.000Z',
    });
    assert.deepEqual(found.map(idOf), [id]);
    assert.equal(eventsOf(found[0]!).length, 2);
    const some = await items({
      'Filter.1.Name': 'event.code',
      ...listed('Filter.1.Value', ['instance-retirement']),
    });
    assert.ok(some.map(idOf).includes(id));
    assert.ok(
      some.every(item => eventsOf(item).some(({ code }) => code === 'instance-retirement')),
    );
  });

  test('one unknown id fails the whole call, and is named', async () => {
    const [id = ''] = await ec2.runInstances(1);
    const notFound = { status: 400, code: 'InvalidInstanceID.NotFound' };
    const [one, two] = unknown;
    assert.deepEqual(await refusal(listed('InstanceId', [id, one])), {
      ...notFound,
      message: `The instance ID '${one}' does not exist`,
    });
    assert.deepEqual(await refusal(listed('InstanceId', [one, id, two])), {
      ...notFound,
      message: `The instance IDs '${one}, ${two}' do not exist`,
    });
    assert.deepEqual(await refusal(listed('InstanceId', ['nonsense'])), {
      status: 400,
      code: 'InvalidInstanceID.Malformed',
      message: 'Invalid id: "nonsense"',
    });
  });

  test('100 ids are as many as a call may have, and ids go without pages', async () => {
    const ids = await ec2.runInstances(101);
    assert.equal((await items(listed('InstanceId', ids.slice(0, 100)))).length, 100);
    assert.deepEqual(await refusal(listed('InstanceId', ids)), {
      status: 400,
      code: 'InvalidRequest',
      message:
        '101 exceeds the maximum number of instance IDs that can be specificied (100). Please specify fewer than 100 instance IDs.',
    });
    assert.deepEqual(
      await refusal({ ...listed('InstanceId', ids.slice(0, 2)), MaxResults: '10' }),
      {
        status: 400,
        code: 'InvalidParameterCombination',
        message: 'The parameter instancesSet cannot be used with the parameter maxResults',
      },
    );
    const seen = new Set<string>();
    for (let token: string | undefined = ''; token !== undefined; ) {
      const answer = await ec2.call(describeStatus, {
        MaxResults: '50',
        ...(token === '' ? {} : { NextToken: token }),
      });
      assert.ok(answer.kind === 'answer');
      const page = elementsAt(answer.root, 'instanceStatusSet/item').map(idOf);
      assert.ok(page.length <= 50);
      for (const id of page) seen.add(id);
      token = textAt(answer.root, 'nextToken');
    }
    assert.ok(ids.every(id => seen.has(id)));
    await ec2.terminate(...ids);
  });

  test('an instance that does not run is left out without a word, with its events, unless all are asked for', async () => {
    const [stopped = '', ended = ''] = await ec2.runInstances(2);
    await ec2.announce(stopped, { code: 'instance-stop', notBefore: day(0) });
    await ec2.stopInstances(stopped);
    await ec2.terminate(ended);
    const both = listed('InstanceId', [stopped, ended]);
    assert.deepEqual(await items(both), []);
    const all = new Map(
      (await items({ ...both, IncludeAllInstances: 'true' })).map(item => [idOf(item), item]),
    );
    const stateOf = (id: string): string | undefined => textAt(all.get(id)!, 'instanceState/name');
    assert.deepEqual([stateOf(stopped), stateOf(ended)], ['stopped', 'terminated']);
    assert.equal(eventsOf(all.get(stopped)!).length, 1);
    await ec2.forget(ended);
    assert.equal(
      ((await refusal(both)) as { readonly code: string }).code,
      'InvalidInstanceID.NotFound',
    );
  });

  test('a fault is what the next calls get, calls are counted without it, and the harness is in nobody’s way', async () => {
    await ec2.clearCalls();
    await ec2.fault({
      action: describeStatus,
      code: 'RequestLimitExceeded',
      message: 'Request limit exceeded.',
      times: 2,
    });
    await ec2.fault({
      action: 'RunInstances',
      code: 'InsufficientInstanceCapacity',
      status: 500,
      of: 'harness',
    });
    await assert.rejects(ec2.runInstances(1), /500 InsufficientInstanceCapacity/);
    const limited = {
      status: 503,
      code: 'RequestLimitExceeded',
      message: 'Request limit exceeded.',
    };
    assert.deepEqual([await refusal({}), await refusal({})], [limited, limited]);
    const [id = ''] = await ec2.runInstances(1, { colour: 'blue' });
    await items(listed('InstanceId', [id]));
    assert.deepEqual(await ec2.calls(), { [describeStatus]: 1 });
    assert.deepEqual(
      (await ec2.log()).map(({ fault, params }) => [fault, params]),
      [
        ['RequestLimitExceeded', {}],
        ['RequestLimitExceeded', {}],
        [null, { 'InstanceId.1': id }],
      ],
    );
    const known = (await ec2.instances()).find(instance => instance.id === id);
    assert.deepEqual([known?.state, known?.tags['colour'], known?.boots], ['running', 'blue', 1]);
  });

  test('a call can be made to take its time', async () => {
    await ec2.delay(describeStatus, 0.5);
    const since = performance.now();
    await items();
    await ec2.delay(describeStatus, 0);
    assert.ok(performance.now() - since >= 500);
  });
});

test('EC2 dies with its test process, even one that is killed', {
  skip,
  timeout: 60_000,
}, async () => {
  const script = `
    const { startEc2 } = await import(${JSON.stringify(join(import.meta.dirname, 'ec2.ts'))});
    console.log((await startEc2()).endpoint);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const { promise, resolve } = Promise.withResolvers<string>();
    child.stdout.setEncoding('utf8').once('data', resolve);
    const endpoint = (await promise).trim();
    const answers = (): Promise<boolean> =>
      fetch(`${endpoint}/_drydock/calls`).then(
        ({ ok }) => ok,
        () => false,
      );
    assert.equal(await answers(), true);
    child.kill('SIGKILL');
    await until('it to be gone', async () => !(await answers()), { deadlineMs: 10_000 });
  } finally {
    child.kill('SIGKILL');
  }
});
