import { sameJson } from '@drydock/apimachinery';
import {
  type Identified,
  likelyNames,
  type MachineIdentity,
  nodeOfMachine,
} from '@drydock/core/machine';
import { readNode } from '@drydock/core/node';
import { isControlPlane } from '@drydock/core/quorum';
import { Cache } from './cache.ts';
import { IdentityIndex } from './identity-index.ts';
import { interned } from './intern-strings.ts';
import { type CachedNode, readWholeNode } from './whole-node.ts';

/** A cache of the nodes by name. Heartbeats change them all the time, their labels hardly ever. */
export class NodeCache extends Cache<CachedNode> {
  /** Reads the needed fields of a Node. */
  readonly read = interned(
    (raw): CachedNode => (this.#isWhole ? readWholeNode(raw) : readNode(raw)),
  );
  readonly #controlPlane = new Set<string>();
  readonly #byIdentity = new IdentityIndex<CachedNode>();
  #labelsVersion = 0;
  #isWhole = false;

  /** Makes the cache read whole nodes from now on. */
  keepWhole(): void {
    this.#isWhole = true;
  }

  /** Number that changes whenever a node is added or removed, or its labels change. */
  get labelsVersion(): number {
    return this.#labelsVersion;
  }

  /** Nodes of the control plane: they are few, and every decision about a plan reads them. */
  get controlPlane(): readonly CachedNode[] {
    return [...this.#controlPlane].flatMap(name => this.get(name) ?? []);
  }

  /** Returns the Node of this Machine, or why there is none. */
  of(machine: MachineIdentity): Identified<CachedNode> {
    const likely = likelyNames(machine).flatMap(name => this.get(name) ?? []);
    return nodeOfMachine(machine, this.#byIdentity.near(machine, likely));
  }

  /** Returns all nodes with this name in the cloud. */
  called(instance: string): readonly CachedNode[] {
    return this.#byIdentity.called(instance);
  }

  protected override stored(before: CachedNode | undefined, after: CachedNode | undefined): void {
    if (!sameJson(before?.labels, after?.labels)) this.#labelsVersion += 1;
    this.#byIdentity.update(before, after);
    if (before !== undefined && after === undefined) this.#controlPlane.delete(before.name);
    if (after === undefined) return;
    if (isControlPlane(after)) this.#controlPlane.add(after.name);
    else this.#controlPlane.delete(after.name);
  }
}
