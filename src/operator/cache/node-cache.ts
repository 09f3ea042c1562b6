import { sameJson } from '../../core/json.ts';
import { type Identified, likelyNames, type MachineIdentity, nodeOfMachine } from '../../core/machine/identity.ts';
import { readNode } from '../../core/node/node.ts';
import { isControlPlane } from '../../core/quorum/quorum.ts';
import { Cache } from './cache.ts';
import { IdentityIndex } from './identity-index.ts';
import { interned } from './intern-strings.ts';
import { type CachedNode, readWholeNode } from './whole-node.ts';

/** The nodes by name. Heartbeats change them all the time, their labels hardly ever. */
export class NodeCache extends Cache<CachedNode> {
  /** Keeps of a Node object what is kept here. */
  readonly read = interned((raw): CachedNode => (this.#isWhole ? readWholeNode(raw) : readNode(raw)));
  readonly #controlPlane = new Set<string>();
  readonly #byIdentity = new IdentityIndex<CachedNode>();
  #labelsVersion = 0;
  #isWhole = false;

  /** From now on nodes are read whole. */
  keepWhole(): void {
    this.#isWhole = true;
  }

  /** Another number whenever a node comes or goes, or its labels change. */
  get labelsVersion(): number {
    return this.#labelsVersion;
  }

  /** The nodes of the control plane: few, and every decision about a plan asks for them. */
  get controlPlane(): readonly CachedNode[] {
    return [...this.#controlPlane].flatMap(name => this.get(name) ?? []);
  }

  /** The Node of this Machine, or why there is none. */
  of(machine: MachineIdentity): Identified<CachedNode> {
    const likely = likelyNames(machine).flatMap(name => this.get(name) ?? []);
    return nodeOfMachine(machine, this.#byIdentity.near(machine, likely));
  }

  /** All nodes that the cloud calls so. */
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
