import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { skipOf } from '../builds.ts';
import { type MetadataService, startMetadata } from './metadata.ts';

/** What an instance learns of itself, as AWS's own mock has it. */

const scheduled = '/latest/meta-data/events/maintenance/scheduled';
const started = await startMetadata({
  serves: 'events',
  tokensOnly: true,
  flags: ['-o', 'instance-stop', '-b', '2030-01-01T00:00:00Z'],
});
const skip = skipOf(started);
const service = started as MetadataService;

function askToken(headers: Readonly<Record<string, string>>): Promise<Response> {
  return fetch(`${service.endpoint}/latest/api/token`, { method: 'PUT', headers });
}
async function tokenFor(seconds: string): Promise<string> {
  return (await askToken({ 'X-aws-ec2-metadata-token-ttl-seconds': seconds })).text();
}
function get(path: string, token?: string): Promise<Response> {
  return fetch(
    service.endpoint + path,
    token === undefined ? {} : { headers: { 'X-aws-ec2-metadata-token': token } },
  );
}

describe('the metadata service of an instance', { skip, timeout: 60_000 }, () => {
  after(() => service.stop());

  test('a token has to say how long it lives: 1 s to 6 hours', async () => {
    const status = async (seconds: string): Promise<number> =>
      (await askToken({ 'X-aws-ec2-metadata-token-ttl-seconds': seconds })).status;
    assert.deepEqual(
      await Promise.all(['1', '21600', '0', '21601', 'soon'].map(status)),
      [200, 200, 400, 400, 400],
    );
    assert.equal((await askToken({})).status, 400);
  });

  test('where tokens are required, 401 is what comes without one, with a wrong one, and with one that has expired', async () => {
    assert.equal((await get(scheduled)).status, 401);
    assert.equal((await get(scheduled, 'nonsense')).status, 401);
    const token = await tokenFor('1');
    assert.equal((await get(scheduled, token)).status, 200);
    await sleep(1500);
    assert.equal((await get(scheduled, token)).status, 401);
  });

  test('an event has its times in words, not in ISO 8601, and says what has become of it', async () => {
    const reply = await get(scheduled, await tokenFor('60'));
    assert.match(reply.headers.get('content-type') ?? '', /application\/json/);
    const events = (await reply.json()) as readonly Readonly<Record<string, string>>[];
    assert.equal(events.length, 1);
    const [{ EventId, NotAfter, NotBeforeDeadline, ...event } = {}] = events;
    assert.deepEqual(event, {
      Code: 'instance-stop',
      Description: 'The instance is scheduled for instance-stop',
      State: 'active',
      NotBefore: '1 Jan 2030 00:00:00 GMT',
    });
    assert.match(EventId ?? '', /^instance-event-/);
    for (const time of [NotAfter, NotBeforeDeadline])
      assert.match(time ?? '', /^\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/);
    assert.equal(
      Date.parse(event['NotBefore'] ?? ''),
      Date.UTC(2030, 0, 1),
      'Node reads them nevertheless',
    );
  });
});

test('a spot instance hears nothing, as a page that is no JSON, until it is taken back', {
  skip,
  timeout: 60_000,
}, async () => {
  const started = await startMetadata({ serves: 'spot', flags: ['-d', '2'] });
  assert.ok(started.kind === 'started');
  await using spot = started;
  const action = (): Promise<Response> =>
    fetch(`${spot.endpoint}/latest/meta-data/spot/instance-action`);
  const early = await action();
  assert.equal(early.status, 404);
  assert.match(await early.text(), /<html/);
  await sleep(2500);
  const taken = (await (await action()).json()) as {
    readonly action: string;
    readonly time: string;
  };
  assert.equal(taken.action, 'terminate');
  assert.match(taken.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
});
