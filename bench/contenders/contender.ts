/** Somebody who can take nodes out of service. */
export interface Contender {
  readonly name: ContenderName;
  /** Whose requests in the audit log are its own. */
  readonly user: string;
  /** Resolves when the contender itself says that all the nodes are drained. */
  drain(nodes: readonly string[]): Promise<void>;
  /** Undoes what is left of it; not measured. */
  release(nodes: readonly string[]): Promise<void>;
  /** Resident memory in bytes, of one that stays. */
  memory?(): Promise<number>;
  /** The API resource whose creation starts a drain, of one that is told by objects. */
  readonly startedBy?: string;
  stop(): Promise<void>;
}

export const contenderNames = ['floor', 'kubectl', 'operator', 'nodemaintenance', 'drain'] as const;
export type ContenderName = (typeof contenderNames)[number];
