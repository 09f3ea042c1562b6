/** The kinds of what a cloud, a node or a person announces about a machine. */

/**
 * reboot, redeploy (the machine starts anew on another host, what is on local disks is lost), freeze (it stands still for seconds),
 * maintenance (network or power may fail for a while), stop, retirement (it will not come back), termination, preemption (the cloud wants the
 * machine back within seconds or minutes), rebalance (it may want it back soon).
 */
export const eventKinds = [
  'reboot',
  'redeploy',
  'freeze',
  'maintenance',
  'stop',
  'retirement',
  'termination',
  'preemption',
  'rebalance',
] as const;
export type EventKind = (typeof eventKinds)[number];
