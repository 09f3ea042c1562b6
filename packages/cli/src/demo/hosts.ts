import { nodeNotice } from '@drydock/apis';
import { instanceOf, isPending } from '@drydock/core/machine';
import type { DemoCloud } from '@drydock/dashboard';
import { type Stored, text } from '@drydock/kube-sim';
import type { Writes } from '@drydock/kube-sim/controllers';
import type { SimulatedCloud } from '@drydock/kube-sim/machines';
import type { Store } from '@drydock/kube-sim/store';
import type { Clock } from '@drydock/utils';

/**
 * Hosts of the simulated cloud: actions on them for the dashboard, and the agents on their nodes.
 */

const notices = 'nodenotices.drydock.dev';

/**
 * Notice of a retirement in seconds: two weeks, and an hour so that it still shows as two weeks a
 * moment later.
 */
const retirementSeconds = 14 * 24 * 3600 + 3600;

/** Seconds until the host restarts, whether its node is empty or not. */
const rebootSeconds = 60;

type Parts = {
  readonly cloud: SimulatedCloud;
  readonly store: Store;
  readonly writes: Writes;
  readonly clock: Clock;
};

/** Returns the instance that a node runs on. */
export function instanceOn(node: Stored | undefined): string | undefined {
  return instanceOf(text(node, 'spec', 'providerID'));
}

/**
 * Writes the announcements for a machine into its NodeNotice, as the agent of the node would; the
 * notice is deleted with the node.
 */
function tell({ cloud, store, writes, clock }: Parts, node: Stored, instance: string): void {
  const { name, uid } = node.metadata;
  const { events } = cloud.scan('simulated', [instance]);
  const before = store.get(notices, '', name);
  if (events.length === 0 && before === undefined) return;
  // The machines have providerIDs of AWS; the announcements are marked as simulated.
  const { spec } = nodeNotice(name, { provider: 'aws', instance, events }, clock.now());
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name, uid }];
  const written =
    before === undefined
      ? writes.create(notices, { metadata: { name, ownerReferences }, spec })
      : writes.update(notices, { ...before, spec });
  if (written.kind === 'refused')
    throw new Error(`the agent of ${name} cannot say what it has heard: ${written.message}`);
}

/** Starts an agent on every node of the cloud; returns a function that stops them. */
export function startAgents(parts: Parts): () => void {
  return parts.cloud.subscribe(instance => {
    const node = parts.store.list('nodes').find(one => instanceOn(one) === instance);
    if (node !== undefined) tell(parts, node, instance);
  });
}

/** Returns the actions on hosts for the dashboard. */
export function hostsOf({ cloud, store }: Parts): DemoCloud {
  return {
    announce: (node, what) => {
      const instance = instanceOn(store.get('nodes', '', node));
      if (instance === undefined || cloud.instance(instance) === undefined)
        return `${node} is no machine of the simulated cloud`;
      if (cloud.scan('page', [instance]).events.some(isPending))
        return `something is announced for ${node} already`;
      if (what === 'retirement')
        cloud.announce(instance, { kind: 'retirement', inSeconds: retirementSeconds });
      else
        cloud.announce(instance, {
          kind: 'reboot',
          inSeconds: rebootSeconds,
          description: 'The host of this machine gets new firmware',
        });
      return undefined;
    },
  };
}
