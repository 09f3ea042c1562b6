import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { secondsBetween } from '@drydock/apimachinery';
import type { Attachment } from '../../drain/blockers/attachment.ts';
import { type Rung, seedPolicy } from '../../drain/policy.ts';
import { type MaintenanceRequest, noHistory, type Report } from '../../request/request.ts';
import { at, makePod, makeRequest, makeSnapshot, ourLease } from '../../testing/make.ts';
import { decide } from '../decide.ts';
import { emptyMemo, type NodeSnapshot } from '../snapshot.ts';

/** Volumes of pods that have left are waited for. */

function attachment(volume?: string): Attachment {
  return {
    key: `va-${volume}`,
    uid: 'va',
    resourceVersion: '1',
    nodeName: 'n1',
    ...(volume !== undefined && { volume }),
  };
}
const stays = makePod('agent', {
  owner: { kind: 'DaemonSet', name: 'agent', uid: 'ds', apiVersion: 'apps/v1' },
  claims: ['data'],
});
const patient = makeRequest('one');
const hasty = makeRequest('two', { policy: { ...seedPolicy, waitForVolumeDetach: false } });

/** The reports of one look, and when the next one is due, in seconds. */
function judged(
  snapshot: NodeSnapshot,
  now: Temporal.Instant,
): { readonly reports: readonly Report[]; readonly requeueAt: number | undefined } {
  const reports: Report[] = [];
  const requests = snapshot.requests.map(request => ({
    ...request,
    adapter: { ...request.adapter, status: (report: Report) => (reports.push(report), {}) },
  }));
  const terms = { durationSeconds: 36_000, renewEverySeconds: 30_000 };
  const leases = new Map([[ourLease.key, { ...ourLease, durationSeconds: 36_000 }]]);
  const { requeueAt } = decide({ ...snapshot, requests, terms, leases }, now);
  return { reports, requeueAt: requeueAt && secondsBetween(at(0), requeueAt) };
}

function look(over: Partial<NodeSnapshot>) {
  const { writes, lookups } = decide(
    makeSnapshot({ attachments: [attachment('pv-1')], ...over }),
    at(100),
  );
  const told = writes.flatMap(({ reportOf, body }) =>
    reportOf === undefined ? [] : [body['status'] as { phase: string; blockers: string[] }],
  );
  return {
    lookups,
    phases: told.map(({ phase }) => phase),
    blockers: told.flatMap(({ blockers }) => blockers),
  };
}
function phases(requests: readonly MaintenanceRequest[], over: Partial<NodeSnapshot> = {}) {
  return look({ requests, ...over }).phases;
}

test('by whom the policy says so, and by nobody else', () => {
  assert.deepEqual(phases([patient]), ['Detaching']);
  assert.deepEqual(phases([hasty]), ['Drained']);
  assert.deepEqual(phases([patient, hasty]), ['Detaching', 'Drained']);
});

test('where nobody knows what is attached, nobody says that all is detached', () => {
  const { attachments: _unknown, ...snapshot } = makeSnapshot({ requests: [patient, hasty] });
  const told = decide(snapshot, at(100)).writes.flatMap(({ reportOf, body }) =>
    reportOf === undefined ? [] : [body['status']],
  );
  assert.deepEqual(
    told.map(status => (status as { phase: string; blockers: string[] }).phase),
    ['Detaching', 'Drained'],
  );
  assert.match(JSON.stringify(told), /AttachmentsUnknown/);
});

test('not before the pods have left: till then they are what is waited for', () => {
  assert.deepEqual(look({ pods: [makePod('a')], budgets: [] }).phases, ['Draining']);
  const denied = {
    method: 'evict',
    outcome: { kind: 'denied', message: 'no' },
    at: at(99),
    tries: 1,
  } as const;
  assert.deepEqual(
    look({ pods: [makePod('a')], attempts: new Map([['uid-shop-a', denied]]) }).blockers,
    ['AdmissionDenied a'],
  );
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

describe('what a volume waits for is said with its driver, and with what that said', () => {
  const told = (over: Partial<Attachment>, now = 100, notes = emptyMemo) => {
    const attachments = [{ ...attachment('pv-1'), attacher: 'ebs.csi.aws.com', ...over }];
    const { reports } = judged(
      makeSnapshot({ requests: [patient], attachments, memo: notes }),
      at(now),
    );
    return reports.flatMap(({ blockers }) => blockers)[0];
  };
  const rows: readonly (readonly [
    what: string,
    over: Partial<Attachment>,
    now: number,
    reason: string,
    words: RegExp,
    helps: RegExp | undefined,
  ])[] = [
    [
      'not asked for yet',
      {},
      100,
      'VolumeAttached',
      /^volume pv-1 of a pod that left is still attached$/,
      undefined,
    ],
    [
      'asked for',
      { detachAskedAt: at(90) },
      100,
      'VolumeAttached',
      /ebs\.csi\.aws\.com was asked to detach it at 2026-11-21T08:01:30Z$/,
      undefined,
    ],
    [
      'asked for, for too long',
      { detachAskedAt: at(90) },
      450,
      'DetachFailed',
      /and has not answered$/,
      /controller of the driver ebs\.csi\.aws\.com runs/,
    ],
    [
      'refused',
      { detachAskedAt: at(90), detachError: 'volume vol-1 is busy' },
      100,
      'DetachFailed',
      /ebs\.csi\.aws\.com cannot detach it: volume vol-1 is busy$/,
      /kubectl describe volumeattachment va-pv-1/,
    ],
  ];
  for (const [what, over, now, reason, words, helps] of rows)
    test(what, () => {
      const blocker = told(over, now);
      assert.equal(blocker?.reason, reason);
      assert.match(blocker?.message ?? '', words);
      if (helps === undefined) assert.equal(blocker?.remedy, undefined);
      else assert.match(blocker?.remedy ?? '', helps);
      assert.doesNotMatch(
        blocker?.remedy ?? '',
        /delete/,
        'the attachment of a node that runs is never to be deleted',
      );
    });

  test('not asked for in six minutes: the kubelet or kube-controller-manager', () => {
    const notes = { ...emptyMemo, blockedSince: new Map([['VolumeAttached  pv-1', at(0)]]) };
    assert.equal(told({}, 359, notes)?.reason, 'VolumeAttached');
    assert.match(told({}, 360, notes)?.remedy ?? '', /attach-detach controller/);
    assert.equal(
      judged(
        makeSnapshot({ requests: [patient], attachments: [attachment('pv-1')], memo: notes }),
        at(10),
      ).requeueAt,
      360,
    );
  });
});

describe('the time limit of a drain bounds its volumes too', () => {
  const bounded = (
    action: Rung['action'],
    over: Partial<MaintenanceRequest> = {},
  ): MaintenanceRequest =>
    makeRequest('one', {
      policy: { ...seedPolicy, ladder: [{ afterSeconds: 60, action }] },
      history: { ...noHistory, state: 'Detaching', drainStartedAt: at(0) },
      ...over,
    });
  const seen = (request: MaintenanceRequest, now: number) =>
    judged(makeSnapshot({ requests: [request], attachments: [attachment('pv-1')] }), at(now));
  test('one that fails, one that releases, and what asks for nothing of the kind', () => {
    const ends = (action: Rung['action'], now: number) =>
      seen(bounded(action), now).reports.map(({ state, failure }) => [state, failure]);
    assert.deepEqual(ends('Fail', 59), [['Detaching', undefined]]);
    assert.deepEqual(ends('Fail', 60), [['Failed', 'DeadlineExceeded']]);
    assert.deepEqual(ends('Release', 60), [['Failed', 'Released']]);
    for (const action of ['Delete', 'KeepTrying'] as const)
      assert.deepEqual(ends(action, 60), [['Detaching', undefined]]);
    assert.deepEqual(
      seen(bounded('Fail'), 60).reports[0]?.blockers.map(({ volume }) => volume),
      ['pv-1'],
      'and what is left is said',
    );
  });
  test('it is looked out for', () => assert.equal(seen(bounded('Fail'), 10).requeueAt, 60));
  test('one that was complete once is not ended by what comes later', () => {
    const request = bounded('Fail', {
      history: { ...noHistory, state: 'Drained', drainStartedAt: at(0), drainedAt: at(30) },
    });
    assert.deepEqual(
      seen(request, 90).reports.map(({ state }) => state),
      ['Detaching'],
    );
  });
});
