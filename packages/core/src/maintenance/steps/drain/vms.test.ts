import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DrainBehavior } from '../../../drain/filters.ts';
import type { VmTrackingState } from '../../../drain/vm/vm-pod-decision.ts';
import type { Pod } from '../../../pod/pod.ts';
import { noHistory } from '../../../request/request.ts';
import { at, makePod, makeRequest } from '../../../testing/make.ts';
import { makeContext, makeProgress } from '../../../testing/make-context.ts';
import { launcherOf, makeVmi, makeVms } from '../../../testing/make-vms.ts';
import type { VmStatus } from '../../../vm/vm-status.ts';
import { emptyMemo } from '../../snapshot.ts';
import { assessVms } from './view.ts';

const vmis = ['b', 'a', 'c'].map(name => makeVmi(name));
const pods = vmis.map(vmi => launcherOf(vmi));
function gone(id: string, name: string): VmStatus {
  return { platform: 'KubeVirt', id, name, state: 'Moved' };
}
function tracked(...all: readonly VmStatus[]): VmTrackingState {
  return {
    vms: new Map(all.map(one => [one.id, one])),
    before: { moved: 0, stopped: 0 },
  };
}
const evict: DrainBehavior = { behavior: 'evict', wave: 0 };
const ignore: DrainBehavior = { behavior: 'ignore', reason: 'NotSelected' };

describe('the VMs that a request wants gone', () => {
  const look = (behavior: (pod: Pod) => DrainBehavior, before: VmTrackingState, seen = pods) => {
    const context = makeContext([makeProgress()], {
      vms: makeVms({ vmis }),
      memo: { ...emptyMemo, vms: before },
    });
    return assessVms(context, seen).statusesOf(seen.map(pod => ({ pod, behavior: behavior(pod) })));
  };
  const names = (...args: Parameters<typeof look>) => look(...args).map(({ name }) => name);

  test('are sorted by name, those that have left among them', () => {
    assert.deepEqual(
      names(() => evict, tracked(gone('y', 'vms/bb'), gone('x', 'vms/aa'))),
      ['vms/a', 'vms/aa', 'vms/b', 'vms/bb', 'vms/c'],
    );
  });

  test('are in the order in which they were seen where two had one name', () => {
    const ids = look(() => evict, tracked(gone('z', 'vms/a'), gone('y', 'vms/a')), []).map(
      ({ id }) => id,
    );
    assert.deepEqual(ids, ['z', 'y']);
  });

  test('are without those whose pods are none of its business', () => {
    const [first] = pods;
    assert.deepEqual(
      names(pod => (pod === first ? ignore : evict), tracked()),
      ['vms/a', 'vms/c'],
    );
    assert.deepEqual(
      names(() => ignore, tracked(gone('x', 'vms/aa'))),
      ['vms/aa'],
    );
    assert.deepEqual(
      names(() => ignore, tracked(), [...pods, makePod('web')]),
      [],
    );
  });
});

test('a process that has just begun goes on from what is stored of a request', () => {
  const stored = (vms?: VmTrackingState) =>
    makeProgress({
      request: makeRequest('one', { history: { ...noHistory, ...(vms && { vms }) } }),
    });
  const before = (notes = emptyMemo) => [
    ...(assessVms(
      makeContext([stored(), stored(tracked(gone('x', 'vms/x')))], { vms: makeVms(), memo: notes }),
      [],
    ).tracked?.vms.keys() ?? []),
  ];
  assert.deepEqual(before(), ['x']);
  assert.deepEqual(
    before({ ...emptyMemo, vms: tracked(gone('y', 'vms/y')) }),
    ['y'],
    'what it has seen itself counts more',
  );
});

test('when the last will have moved is told as far as anything is known of how long it takes', () => {
  const moved = (samples: ReturnType<typeof makeVms>['samples']) => {
    const look = assessVms(
      makeContext([makeProgress()], { vms: makeVms({ vmis, samples }) }),
      pods,
    );
    return 'movedAt' in look ? look.movedAt?.toString() : 'not told';
  };
  assert.equal(moved([]), 'not told');
  assert.equal(
    moved([{ bytes: 2 * 2 ** 30, waitedSeconds: 2, copiedSeconds: 10 }]),
    at(118).toString(),
    'three of 12 s, two at a time',
  );
});
