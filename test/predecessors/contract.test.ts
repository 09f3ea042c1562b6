import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { apply, create } from '../control-plane/objects/cluster.ts';
import { namespace } from '../control-plane/objects/manifests.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until } from '../control-plane/wait.ts';
import { drydock } from '../operator/harness/shipped.ts';
import { allOld, collectionOfOld, type Old } from './old.ts';
import { hasReal, oldOperator } from './program.ts';
import { type Recording, readRecording, withTimes, writeRecording } from './recording.ts';
import { allOf, clear, play } from './situations.ts';

/**
 * What an older operator leaves behind is what its recordings say. The stand-in is held to it here,
 * so that every test that uses it speaks of the real thing; with DRYDOCK_TEST_PREDECESSORS the real
 * ones are, and with DRYDOCK_TEST_RECORD=1 they are recorded anew.
 */

const started = await startControlPlane();
const ready = started.kind === 'started' && !started.external;
const why =
  started.kind === 'left-out'
    ? started.why
    : "somebody else's cluster may have an operator of its own";
const controlPlane = started as ControlPlane;

describe('the stand-in for the older operators', {
  skip: ready ? false : `left out: ${why}`,
  timeout: 600_000,
}, () => {
  const { api } = controlPlane;

  before(async () => {
    const groups = ['nodemaintenance.medik8s.io', 'nodemaintenance.kubevirt.io'];
    const { stdout } = await drydock(['crds', ...groups]);
    await apply(controlPlane.api, stdout);
    for (const old of allOld)
      await until(
        `${old.name} to be served`,
        async () => (await api.call('GET', collectionOfOld(old))).status === 200,
      );
    await create(api, namespace('medik8s-leases'), namespace('node-maintenance'));
  });
  after(() => controlPlane.stop());

  type Tainted = {
    readonly spec?: {
      readonly taints?: readonly { readonly key: string; readonly timeAdded?: string }[];
    };
  };
  /**
   * Times differ from run to run; that one is there does not. The node controller takes the taint
   * of a cordon off and puts it on again, or does not, by how long the operator takes from its
   * taints to its cordon: so its place and its time are nobody's.
   */
  const comparable = ({ recordedAt: _when, node, ...recording }: Recording): object => {
    const { taints = [] } = (node as Tainted).spec ?? {};
    const sorted = taints
      .map(({ timeAdded: _time, ...taint }) => taint)
      .sort((one, other) => (one.key < other.key ? -1 : 1));
    return withTimes(
      { ...recording, node: { ...node, spec: { ...node.spec, taints: sorted } } },
      () => '(a time)',
    );
  };

  const recordIfAsked = (old: Old, recordings: readonly Recording[]): void => {
    if (process.env['DRYDOCK_TEST_RECORD'] !== '1') return;
    mkdirSync(join(import.meta.dirname, 'recordings', old.name), { recursive: true });
    for (const recording of recordings) writeRecording(old, recording);
  };

  const holdsTo = async (old: Old): Promise<void> => {
    const left = await play(api, old, oldOperator(controlPlane, old));
    recordIfAsked(old, left);
    for (const recording of left) {
      assert.deepEqual(
        comparable(recording),
        comparable(readRecording(old, recording.situation)),
        `${old.name}: ${recording.situation}`,
      );
    }
    await clear(api, old);
  };

  const names = allOld.map(({ name }) => name).join(', ');
  test(`leaves what ${names} left, in every situation`, async () => {
    // Real ones cannot be there at the same time: two serve the same kind, and all want the same
    // port.
    if (hasReal) for (const old of allOld) await holdsTo(old);
    else await allOf(allOld.map(holdsTo));
  });
});
