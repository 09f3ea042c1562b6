import type { DesiredHostState, HostView } from './host.ts';

/** The nodes that are hypervisors, and the party that moves their VMs that are not pods. */
export interface Hypervisors {
  /**
   * Returns the view on a hypervisor. unknown: not found out yet. none: the node is no hypervisor.
   */
  of(nodeName: string): HostView | 'unknown' | 'none';
  /**
   * Sets whether the hypervisor is to be emptied; undefined if no request wants that any more.
   * Called at every pass of the node; the same state again changes nothing.
   */
  want(nodeName: string, desired: DesiredHostState | undefined): void;
}
