/** Kinds of announcements by a cloud, a node or a person about a machine. */

/**
 * Kinds: reboot, redeploy (the machine starts again on another host, the data on local disks is
 * lost), freeze (it pauses for seconds), maintenance (network or power may fail for a while), stop,
 * retirement (it will not come back), termination, preemption (the cloud takes the machine back
 * within seconds or minutes), rebalance (it may take it back soon).
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
