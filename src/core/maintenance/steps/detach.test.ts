import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attachment } from '../../drain/blockers/attachment.ts';
import { seedPolicy } from '../../request/policy.ts';
import type { MaintenanceRequest } from '../../request/request.ts';
import { at, makePod, makeRequest, makeSnapshot } from '../../testing/make.ts';
import { decide } from '../decide.ts';
import type { NodeSnapshot } from '../snapshot.ts';

/** Volumes of pods that have left are waited for. */

const attachment = (volume?: string): Attachment => ({
  key: `va-${volume}`,
  uid: 'va',
  resourceVersion: '1',
  nodeName: 'n1',
  ...(volume !== undefined && { volume }),
});
const stays = makePod('agent', { owner: { kind: 'DaemonSet', name: 'agent', uid: 'ds', apiVersion: 'apps/v1' }, claims: ['data'] });
const patient = makeRequest('one');
const hasty = makeRequest('two', { policy: { ...seedPolicy, waitForVolumeDetach: false } });

const look = (over: Partial<NodeSnapshot>) => {
  const { writes, lookups } = decide(makeSnapshot({ attachments: [attachment('pv-1')], ...over }), at(100));
  const told = writes.flatMap(({ reportOf, body }) =>
    reportOf === undefined ? [] : [body['status'] as { phase: string; blockers: string[] }],
  );
  return { lookups, phases: told.map(({ phase }) => phase), blockers: told.flatMap(({ blockers }) => blockers) };
};
const phases = (requests: readonly MaintenanceRequest[], over: Partial<NodeSnapshot> = {}) => look({ requests, ...over }).phases;

test('by whom the policy says so, and by nobody else', () => {
  assert.deepEqual(phases([patient]), ['Detaching']);
  assert.deepEqual(phases([hasty]), ['Drained']);
  assert.deepEqual(phases([patient, hasty]), ['Detaching', 'Drained']);
});

test('not before the pods have left: till then they are what is waited for', () => {
  assert.deepEqual(look({ pods: [makePod('a')], budgets: [] }).phases, ['Draining']);
  const denied = { method: 'evict', outcome: { kind: 'denied', message: 'no' }, at: at(99), tries: 1 } as const;
  assert.deepEqual(look({ pods: [makePod('a')], attempts: new Map([['uid-shop-a', denied]]) }).blockers, ['AdmissionDenied a']);
});

test('an inline volume is nobody’s that could be waited for', () => {
  assert.deepEqual(phases([patient], { attachments: [attachment()] }), ['Drained']);
});

test('claims of pods that stay are looked up first, and only where there is something to wait for', () => {
  const pods = [stays];
  const first = look({ pods });
  assert.deepEqual(
    [first.lookups, first.phases],
    [[{ kind: 'PersistentVolumeClaim', key: 'shop/data' }], []],
    'nothing is said before the answer',
  );
  assert.deepEqual(look({ pods, requests: [hasty] }).lookups, []);
  assert.deepEqual(look({ pods, attachments: [] }).lookups, []);
  assert.deepEqual(look({ pods, attachments: [attachment()] }).lookups, []);
  assert.deepEqual(look({ pods, volumes: new Map([['shop/data', 'pv-2']]) }).phases, ['Detaching']);
});
