import type { Machine } from '@drydock/core/machine';
import { type Identified, machineOfNode, type ProvidedNode } from '@drydock/core/machine';
import { Cache } from '../cache/cache.ts';
import { IdentityIndex } from '../cache/identity-index.ts';
import { SecondaryIndex } from '../cache/secondary-index.ts';

/** A cache of the Machines by name, by identity, and by the node that they name. */
export class MachineStore extends Cache<Machine> {
  readonly #byIdentity = new IdentityIndex<Machine>();
  readonly #byNodeName = new SecondaryIndex<Machine>(({ nodeName }) => nodeName);

  constructor() {
    super(({ name }) => name);
  }

  /** Returns the Machine of this Node, or why there is none. */
  of(node: ProvidedNode): Identified<Machine> {
    return machineOfNode(node, this.#byIdentity.near(node, this.#byNodeName.in(node.name)));
  }

  /** Returns all Machines with this name in the cloud. */
  called(instance: string): readonly Machine[] {
    return this.#byIdentity.called(instance);
  }

  protected override stored(before: Machine | undefined, after: Machine | undefined): void {
    this.#byIdentity.update(before, after);
    this.#byNodeName.update(before, after);
  }
}
