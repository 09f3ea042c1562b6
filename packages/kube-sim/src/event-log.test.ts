import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '@drydock/utils';
import { createCluster } from './cluster.ts';
import type { Note } from './controllers/controller.ts';
import { writesOn } from './controllers/runner.ts';
import { EventLog } from './event-log.ts';
import { seeded, text } from './object.ts';

function setUp() {
  const clock = new VirtualClock();
  const { registry } = createCluster({ clock, random: seeded(1) });
  const writes = writesOn(registry);
  const log = new EventLog(registry, writes, clock);
  const written = writes.create('configmaps', {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace: 'default' },
  });
  if (written.kind === 'refused') throw new Error(written.message);
  const note = (message: string, more: Partial<Note> = {}): void =>
    log.record({
      by: 'tester',
      about: { resource: 'configmaps', object: written.object },
      type: 'Normal',
      reason: 'Said',
      message,
      ...more,
    });
  const events = () => registry.store.list('events', 'default');
  return { clock, log, note, events };
}

test('what is repeated is counted, what is another thing is another event', () => {
  const { note, events } = setUp();
  for (const message of ['one', 'two', 'one', 'one']) note(message);
  assert.deepEqual(
    events().map(event => [event['message'], event['count']]),
    [
      ['one', 3],
      ['two', 1],
    ],
  );
  const [event] = events();
  assert.deepEqual(
    [event?.['source'], event?.['reportingComponent']],
    [{ component: 'tester' }, 'tester'],
  );
});

test('many messages for one reason share an event from the tenth on', () => {
  const { note, events } = setUp();
  for (let index = 0; index < 15; index += 1) note(`message ${index}`);
  assert.equal(events().length, 10);
  assert.equal(
    events().filter(event => text(event, 'message').startsWith('(combined from similar events): '))
      .length,
    1,
  );
});

test('who says too much about one object is not heard for a while', async () => {
  const { clock, note, events } = setUp();
  for (let index = 0; index < 40; index += 1) note('the same');
  assert.deepEqual(
    events().map(event => event['count']),
    [25],
  );
  await clock.advance(300_000);
  note('the same');
  note('the same');
  assert.deepEqual(
    events().map(event => event['count']),
    [26],
  );
});

test('events are forgotten an hour after they were written last', async () => {
  const { clock, log, note, events } = setUp();
  note('old');
  await clock.advance(30 * 60_000);
  note('young');
  await clock.advance(31 * 60_000);
  assert.deepEqual(
    events().map(event => event['message']),
    ['young'],
  );
  await clock.advance(30 * 60_000);
  assert.deepEqual(events(), []);
  log.stop();
});
