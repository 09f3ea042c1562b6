import { nodeNotice } from '../../apis/machines/machine-event-source.ts';
import { isPending } from '../../core/machine/event.ts';
import { instanceOf } from '../../core/machine/provider-id.ts';
import type { Writes } from '../../embedded/controllers/controller.ts';
import type { SimulatedCloud } from '../../embedded/machines/cloud.ts';
import { type Stored, text } from '../../embedded/object.ts';
import type { Store } from '../../embedded/store/store.ts';
import type { Clock } from '../../support/clock.ts';
import type { DemoCloud } from '../../web/dashboard/actions/demo-cloud.ts';

/** The hosts of the simulated cloud: what can be done to them from the dashboard, and the agents on the nodes that hear of it. */

const notices = 'nodenotices.drydock.dev';

/** Two weeks, which are still two weeks when somebody looks at them a moment later. */
const retirementSeconds = 14 * 24 * 3600 + 3600;

/** The host restarts then, whether its node is empty or not. */
const rebootSeconds = 60;

type Parts = { readonly cloud: SimulatedCloud; readonly store: Store; readonly writes: Writes; readonly clock: Clock };

/** The instance that a node runs on. */
export const instanceOn = (node: Stored | undefined): string | undefined => instanceOf(text(node, 'spec', 'providerID'));

/** As the agent of a node would: what its machine is told, written into its NodeNotice, which goes with the node. */
const tell = ({ cloud, store, writes, clock }: Parts, node: Stored, instance: string): void => {
  const { name, uid } = node.metadata;
  const { events } = cloud.scan('simulated', [instance]);
  const before = store.get(notices, '', name);
  if (events.length === 0 && before === undefined) return;
  // The machines have providerIDs of AWS; the announcements say themselves that they are made up.
  const { spec } = nodeNotice(name, { provider: 'aws', instance, events }, clock.now());
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name, uid }];
  const written =
    before === undefined
      ? writes.create(notices, { metadata: { name, ownerReferences }, spec })
      : writes.update(notices, { ...before, spec });
  if (written.kind === 'refused') throw new Error(`the agent of ${name} cannot say what it has heard: ${written.message}`);
};

/** Starts an agent on every node of the cloud; the answer ends them. */
export const startAgents = (parts: Parts): (() => void) =>
  parts.cloud.subscribe(instance => {
    const node = parts.store.list('nodes').find(one => instanceOn(one) === instance);
    if (node !== undefined) tell(parts, node, instance);
  });

/** What the dashboard may have done to them. */
export const hostsOf = ({ cloud, store }: Parts): DemoCloud => ({
  announce: (node, what) => {
    const instance = instanceOn(store.get('nodes', '', node));
    if (instance === undefined || cloud.instance(instance) === undefined) return `${node} is no machine of the simulated cloud`;
    if (cloud.scan('page', [instance]).events.some(isPending)) return `something is announced for ${node} already`;
    if (what === 'retirement') cloud.announce(instance, { kind: 'retirement', inSeconds: retirementSeconds });
    else cloud.announce(instance, { kind: 'reboot', inSeconds: rebootSeconds, description: 'The host of this machine gets new firmware' });
    return undefined;
  },
});
