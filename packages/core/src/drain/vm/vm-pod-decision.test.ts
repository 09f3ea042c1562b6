import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../../testing/make.ts';
import { launcherOf, makeMigration, makeVmi, makeVms, unplacedOf } from '../../testing/make-vms.ts';
import { vmPodsOf } from '../../vm/vm-pod.ts';
import { MigrationSlots, vmPodDecision } from './vm-pod-decision.ts';

test('a VM that waits is looked at again when time alone will change what is said of it, and only then', () => {
  const vmi = makeVmi('db', { evacuatedFrom: 'n1' });
  const pod = launcherOf(vmi);
  const turn = (phase: string) => {
    const migrations = [makeMigration(vmi, phase)];
    const vms = makeVms({ vmis: [vmi], migrations, unplaced: unplacedOf(migrations) });
    const vmPod = vmPodsOf('n1', [pod], vms).get(pod.uid);
    assert.ok(vmPod);
    return vmPodDecision(pod, vmPod, {
      vms,
      attempt: undefined,
      mayStop: false,
      room: new MigrationSlots(1),
      now: at(10),
    });
  };
  const requeueAt = (phase: string): unknown => {
    const verdict = turn(phase);
    return verdict?.verdict === 'wait' && 'requeueAt' in verdict
      ? verdict.requeueAt?.toString()
      : 'no moment';
  };
  assert.equal(requeueAt('Scheduling'), at(61).toString(), 'its target pod finds no node then');
  assert.equal(requeueAt('Running'), 'no moment');
});
