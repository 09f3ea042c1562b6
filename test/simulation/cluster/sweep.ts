import { type Stored, text } from '@drydock/kube-sim';
import { controllerOf } from '@drydock/kube-sim/controllers';
import { hasHook, machineGroups } from '@drydock/kube-sim/machines';
import type { Doing } from './people.ts';

/**
 * What people take away, again and again, when nothing goes wrong any more: machines and pods that
 * nothing else would ever end.
 */

type Sweeping = Omit<Doing, 'dice'>;

/** Milliseconds after which somebody looks for what was to end and does not. */
const stuckMs = 120_000;

const machineMaintenances = 'machinemaintenances.machinemaintenance.managed.openshift.io';

/** Says on a machine that a person has deleted it. */
const givenUp = 'people/given-up';

const over = ['Succeeded', 'Cancelled', 'Notified'];

function isStuck({ metadata: { deletionTimestamp } }: Stored, { clock }: Sweeping): boolean {
  return deletionTimestamp !== undefined && clock.nowMs > Date.parse(deletionTimestamp) + stuckMs;
}

/**
 * Machines that have stopped or vanished although their cloud had called that off are given up; so
 * are those that were to be emptied only, and that the cloud then did not give back.
 */
function giveUp(machine: Stored, resource: string, { stage }: Sweeping): void {
  const id = text(machine, 'spec', 'providerID').split('/').at(-1) ?? '';
  if (id === '' || ['running', 'rebooting'].includes(stage.cloud?.instance(id)?.state ?? ''))
    return;
  const isCared = stage.cluster.registry.store
    .list(machineMaintenances)
    .some(
      one =>
        text(one, 'spec', 'machinelink') === machine.metadata.name &&
        text(one, 'status', 'strategy') !== 'Drain' &&
        !over.includes(text(one, 'status', 'phase')),
    );
  if (isCared || machine.metadata.deletionTimestamp !== undefined) return;
  stage.writes.update(resource, {
    ...machine,
    metadata: {
      ...machine.metadata,
      annotations: { ...machine.metadata.annotations, [givenUp]: 'x' },
    },
  });
  stage.writes.remove(resource, machine.metadata.namespace ?? '', machine.metadata.name);
}

/**
 * A machine API drains the node of a machine that is being deleted, which the simulated one leaves
 * to others.
 */
function empty(machine: Stored, sweeping: Sweeping): void {
  if (hasHook(machine) || !isStuck(machine, sweeping)) return;
  const { cluster, writes } = sweeping.stage;
  for (const pod of cluster.registry.store.indexed('pods', 'spec.nodeName', machine.metadata.name))
    if (controllerOf(pod)?.kind !== 'DaemonSet')
      writes.remove('pods', pod.metadata.namespace ?? '', pod.metadata.name);
}

function sweepMachines(sweeping: Sweeping): void {
  const { stage, story } = sweeping;
  if (story.machines === undefined) return;
  const resource = `machines.${machineGroups[story.machines.flavour].group}`;
  for (const machine of stage.cluster.registry.store.list(resource)) {
    giveUp(machine, resource, sweeping);
    empty(machine, sweeping);
  }
}

/**
 * Pods that no kubelet ends, because it does not want to or because its machine was stopped, are
 * taken away by force.
 */
export function sweep(sweeping: Sweeping): void {
  sweepMachines(sweeping);
  const { cluster, writes } = sweeping.stage;
  for (const pod of cluster.registry.store.list('pods'))
    if (isStuck(pod, sweeping))
      writes.remove('pods', pod.metadata.namespace ?? '', pod.metadata.name, {
        gracePeriodSeconds: 0,
      });
}
