import type { EventKind } from '@drydock/core';
import type { PresetName, Signal } from '@drydock/core/machine';

/** Rules for signals that other programs put on nodes, by the name of the preset. */

function problem(type: string): Signal {
  return { condition: { type, status: 'True' }, kind: 'maintenance' };
}

function tainted(key: string, kind: EventKind, description: string): Signal {
  return { taint: { key }, kind, description };
}

/**
 * Returns a signal of a condition of AKS: its message begins with the kind of event, and contains
 * its time (Azure/AKS, node problem detector).
 */
function aksScheduled(word: string, kind: EventKind): Signal {
  return {
    condition: { type: 'VMEventScheduled', status: 'True', messageContains: `${word} Scheduled` },
    kind,
    notBeforeInMessage: true,
  };
}

export const signalPresets = {
  /**
   * Permanent problems in the configuration files of kubernetes/node-problem-detector; they stay
   * until the node restarts.
   */
  'node-problem-detector': [
    problem('KernelDeadlock'),
    problem('ReadonlyFilesystem'),
    problem('XfsShutdown'),
    problem('CperHardwareErrorFatal'),
    problem('CorruptDockerOverlay2'),
  ],
  /** Source: GKE, "Manage disruption to GKE nodes that don't live migrate". */
  gke: [
    tainted(
      'cloud.google.com/impending-node-termination',
      'termination',
      'GKE is about to terminate this node',
    ),
    {
      label: { key: 'cloud.google.com/active-node-maintenance', value: 'ONGOING' },
      kind: 'maintenance',
      state: 'Active',
      description: 'GKE stops the workloads of this node for host maintenance',
    },
    {
      label: { key: 'cloud.google.com/scheduled-maintenance-time' },
      kind: 'maintenance',
      notBeforeLabel: 'cloud.google.com/scheduled-maintenance-time',
      state: 'Scheduled',
      description: 'Google has planned host maintenance for this node',
    },
  ],
  /** Source: AKS, "Node problem detector" and "Node auto-drain". */
  aks: [
    aksScheduled('Preempt', 'preemption'),
    aksScheduled('Terminate', 'termination'),
    aksScheduled('Redeploy', 'redeploy'),
    aksScheduled('Reboot', 'reboot'),
    aksScheduled('Freeze', 'freeze'),
    {
      condition: { type: 'PreemptionScheduled', status: 'True' },
      kind: 'preemption',
      notBeforeInMessage: true,
    },
    {
      condition: { type: 'VMEventScheduled', status: 'True' },
      kind: 'maintenance',
      notBeforeInMessage: true,
    },
  ],
  /**
   * Taints of aws/aws-node-termination-handler with taintNode. Their value is the event; they
   * contain no time.
   */
  'aws-node-termination-handler': [
    tainted(
      'aws-node-termination-handler/spot-itn',
      'preemption',
      'AWS takes this Spot instance back',
    ),
    tainted(
      'aws-node-termination-handler/scheduled-maintenance',
      'maintenance',
      'AWS has scheduled maintenance for this instance',
    ),
    tainted(
      'aws-node-termination-handler/asg-lifecycle-termination',
      'termination',
      'the Auto Scaling group terminates this instance',
    ),
    tainted(
      'aws-node-termination-handler/rebalance-recommendation',
      'rebalance',
      'AWS may take this Spot instance back soon',
    ),
  ],
  /**
   * Taints of Karpenter from 1.0, and before. Karpenter drains these nodes itself: the preset is
   * for notifications only.
   */
  karpenter: [
    tainted('karpenter.sh/disrupted', 'termination', 'Karpenter removes this node'),
    {
      taint: { key: 'karpenter.sh/disruption', value: 'disrupting' },
      kind: 'termination',
      description: 'Karpenter removes this node',
    },
  ],
} satisfies Readonly<Record<PresetName, readonly Signal[]>>;
