import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type CloudEventsOptions,
  type CloudEventsRequest,
  readCloudEvents,
} from './cloudevents.ts';
import { plain } from './testing/plain.ts';

const structured = 'application/cloudevents+json';
const batched = 'application/cloudevents-batch+json';
const event = {
  specversion: '1.0',
  id: '4711',
  source: 'https://dc.example/racks',
  type: 'dev.drydock.machine.reboot',
  subject: 'node-1',
  data: {
    notBefore: '2030-01-01T00:00:00Z',
    notAfter: '2030-01-01T02:00:00Z',
    state: 'Scheduled',
    description: 'new firmware',
  },
};
function asked(body: unknown, type = structured): CloudEventsRequest {
  return {
    headers: { 'content-type': type },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}

function read(request: CloudEventsRequest, options?: CloudEventsOptions) {
  const answer = readCloudEvents(request, options);
  assert.ok(!('refused' in answer), 'refused' in answer ? answer.refused : '');
  assert.deepEqual(answer.unread, []);
  return answer.events.map(plain);
}

const whole = {
  provider: 'https://dc.example/racks',
  id: '4711',
  kind: 'reboot',
  code: 'dev.drydock.machine.reboot',
  instance: 'node-1',
  notBefore: '2030-01-01T00:00:00Z',
  notAfter: '2030-01-01T02:00:00Z',
  deadline: '2030-01-01T00:00:00Z',
  state: 'Scheduled',
  description: 'new firmware',
  source: 'cloudevents',
};

test('structured mode', () => {
  assert.deepEqual(read(asked(event)), [whole]);
  assert.deepEqual(read(asked(event, 'Application/CloudEvents+JSON; charset=UTF-8')), [whole]);
});

test('batched mode; an empty batch is no events', () => {
  assert.deepEqual(
    read(asked([event, { ...event, id: '4712' }], batched)).map(({ id }) => id),
    ['4711', '4712'],
  );
  assert.deepEqual(read(asked([], batched)), []);
});

test('what cannot be read of a batch is said, and the rest is read', () => {
  const answer = readCloudEvents(
    asked([event, { ...event, id: 7 }, { ...event, id: '4712' }, 'x'], batched),
  );
  assert.ok(!('refused' in answer));
  assert.deepEqual(
    [answer.events.map(({ id }) => id), answer.unread],
    [
      ['4711', '4712'],
      ['event 2: the attribute id is missing', 'event 4: an event must be a JSON object'],
    ],
  );
});

test('binary mode, with escapes in headers as the binding wants them', () => {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'ce-specversion': '1.0',
    'ce-id': '4711',
    'ce-source': 'https://dc.example/racks',
    'ce-type': 'dev.drydock.machine.reboot',
    'ce-subject': 'k%C3%B6ln%201',
    authorization: 'Bearer x',
  };
  assert.deepEqual(read({ headers, body: JSON.stringify(event.data) }), [
    { ...whole, instance: 'köln 1' },
  ]);
  const { 'content-type': _, ...without } = headers;
  assert.deepEqual(
    read({ headers: { ...without, 'ce-subject': '100%' }, body: '' }).map(({ instance, state }) => [
      instance,
      state,
    ]),
    [['100%', 'Scheduled']],
  );
});

test('the subject is a name, an instance or a providerID', () => {
  const providerID = 'aws:///us-east-1a/i-0123456789abcdef0';
  const [value] = read(asked({ ...event, subject: providerID }));
  assert.deepEqual([value?.['instance'], value?.['resource']], ['i-0123456789abcdef0', providerID]);
  assert.equal(
    read(asked({ ...event, subject: 'i-0123456789abcdef0' }))[0]?.['instance'],
    'i-0123456789abcdef0',
  );
});

const variants: readonly (readonly [
  string,
  object,
  Readonly<Record<string, string | undefined>>,
])[] = [
  [
    'a deadline of its own',
    { data: { ...event.data, deadline: '2029-12-31T00:00:00Z' } },
    { deadline: '2029-12-31T00:00:00Z' },
  ],
  ['an id that stays', { data: { id: 'rack-7' } }, { id: 'rack-7', notBefore: undefined }],
  [
    'when it was written',
    { time: '2029-12-01T01:00:00+01:00' },
    { announcedAt: '2029-12-01T00:00:00Z' },
  ],
  ['that it is over', { data: { state: 'completed' } }, { state: 'Completed' }],
  ['that it was canceled', { data: { state: 'canceled' } }, { state: 'Cancelled' }],
  [
    'nothing',
    { data: undefined },
    { state: 'Scheduled', deadline: undefined, description: undefined },
  ],
  ['null', { data: null }, { state: 'Scheduled' }],
  [
    'base64',
    { data: undefined, data_base64: Buffer.from('{"description":"x"}').toString('base64') },
    { description: 'x' },
  ],
];
for (const [what, more, wanted] of variants) {
  test(`data with ${what}`, () => {
    const [value = {}] = read(asked({ ...event, ...more }));
    assert.deepEqual(
      Object.fromEntries(Object.keys(wanted).map(name => [name, value[name]])),
      wanted,
    );
  });
}

test('types of others mean what the configuration says', () => {
  const request = asked({ ...event, type: 'com.example.server.down' });
  const [value] = read(request, {
    types: { 'com.example.server.down': 'termination' },
    source: 'racks',
  });
  assert.deepEqual(
    [value?.['kind'], value?.['code'], value?.['source']],
    ['termination', 'com.example.server.down', 'racks'],
  );
  assert.equal(read(asked(event), { types: { [event.type]: 'freeze' } })[0]?.['kind'], 'freeze');
});

const refusals: readonly (readonly [string, CloudEventsRequest, number, RegExp])[] = [
  ['no content type', { headers: {}, body: '{}' }, 415, /no CloudEvent.*missing/],
  ['plain JSON', asked(event, 'application/json'), 415, /no CloudEvent.*application\/json/],
  [
    'another format',
    asked('x', 'application/cloudevents+avro'),
    415,
    /as JSON, not as application\/cloudevents\+avro/,
  ],
  [
    'binary data that is no JSON',
    { headers: { 'ce-specversion': '1.0', 'content-type': 'text/xml' }, body: '<a/>' },
    415,
    /not text\/xml/,
  ],
  ['what is no JSON', asked('{'), 400, /not JSON/],
  ['a list that is no batch', asked([event]), 400, /must be a JSON object/],
  ['a batch that is no list', asked(event, batched), 400, /must be a list/],
  ['version 0.3', asked({ ...event, specversion: '0.3' }), 400, /specversion 0\.3.*send 1\.0/],
  ['no id', asked({ ...event, id: '' }), 400, /attribute id is missing/],
  ['no source', asked({ ...event, source: undefined }), 400, /attribute source is missing/],
  ['no subject', asked({ ...event, subject: undefined }), 400, /attribute subject is missing/],
  [
    'an endless subject',
    asked({ ...event, subject: 'n'.repeat(1025) }),
    400,
    /attribute subject is longer than 1024/,
  ],
  [
    'a subject of two lines',
    asked({ ...event, subject: 'n1\nn2' }),
    400,
    /attribute subject.*control characters/,
  ],
  [
    'an id of two lines',
    asked({ ...event, data: { id: 'a\nb' } }),
    400,
    /data\.id.*control characters/,
  ],
  [
    'an unknown type',
    asked({ ...event, type: 'com.example.x' }),
    400,
    /com\.example\.x is not known.*dev\.drydock\.machine\.reboot/,
  ],
  [
    'a type that every object has',
    asked({ ...event, type: 'constructor' }),
    400,
    /constructor is not known/,
  ],
  [
    'an unknown kind',
    asked({ ...event, type: 'dev.drydock.machine.dance' }),
    400,
    /dance is not known/,
  ],
  [
    'a time without a zone',
    asked({ ...event, data: { notBefore: '2030-01-01T00:00:00' } }),
    400,
    /data\.notBefore.*RFC 3339/,
  ],
  [
    'an unknown state',
    asked({ ...event, data: { state: 'Maybe' } }),
    400,
    /Maybe is not known.*Scheduled, Active/,
  ],
  [
    'a description that is no text',
    asked({ ...event, data: { description: 7 } }),
    400,
    /data\.description must be a string/,
  ],
  ['data that is no object', asked({ ...event, data: [1] }), 400, /data must be a JSON object/],
  [
    'a batch of bad events',
    asked([{ ...event, id: 7 }, 7], batched),
    400,
    /^event 1: the attribute id/,
  ],
  ['too much', asked('x'.repeat(256 * 1024 + 1)), 413, /256 KiB/],
  ['too many', asked(`[${'0,'.repeat(1000)}0]`, batched), 413, /1001 events/],
];
for (const [what, request, status, words] of refusals) {
  test(`${what} is refused with ${status}`, () => {
    const answer = readCloudEvents(request);
    assert.ok('refused' in answer);
    assert.equal(answer.status, status);
    assert.match(answer.refused, words);
    assert.ok(!answer.refused.includes('\n'));
  });
}
