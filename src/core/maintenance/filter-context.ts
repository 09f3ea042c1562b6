import type { Circumstances } from '../drain/filters.ts';
import { guestsOf } from '../vm/vm-pod.ts';
import type { Picture } from './snapshot.ts';

/** What has to be known beside a pod of this node to judge it. */
export const circumstancesOf = (
  { nodeName, pods = [], vms, daemonSets }: Pick<Picture, 'nodeName' | 'pods' | 'vms' | 'daemonSets'>,
  now: Temporal.Instant,
): Circumstances => ({ now, daemonSets, guests: guestsOf(nodeName, pods, vms) });
