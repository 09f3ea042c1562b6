import { joinLimited } from '@drydock/apimachinery';
import type { Machine } from './machine.ts';
import { isSameProviderId } from './provider-id.ts';

/**
 * Identity of Machines and Nodes. Both have the same providerID, or they are not the same machine:
 * names collide between the clusters whose Machines one management cluster holds, and a user who
 * may write a Machine chooses the node that its status names.
 */

/** A Node, as far as its identity is concerned. */
export type ProvidedNode = { readonly name: string; readonly providerId?: string };

/** A Machine, as far as its identity is concerned. */
export type MachineIdentity = Pick<
  Machine,
  'namespace' | 'name' | 'providerId' | 'nodeName' | 'addresses'
>;

/** The identified object, or why there is none. */
export type Identified<T> =
  | { readonly found: T }
  | {
      readonly lack: string;
      /** True if a candidate looks like the object, and may be it. */
      readonly isNear?: true;
    };

function machineText({ namespace, name }: MachineIdentity): string {
  return `Machine ${namespace}/${name}`;
}

/**
 * Returns why the Node is not this Machine; undefined if it is: the same providerID, and no other
 * node that the Machine names as its own.
 */
export function identityLack(node: ProvidedNode, machine: MachineIdentity): string | undefined {
  const what = machineText(machine);
  if (node.providerId === undefined)
    return `node ${node.name} has no spec.providerID, which would prove that it is ${what}`;
  if (machine.providerId === undefined)
    return `${what} has no spec.providerID, which would prove that it is node ${node.name}`;
  if (!isSameProviderId(node.providerId, machine.providerId))
    return `${what} has providerID ${machine.providerId}, and node ${node.name} has ${node.providerId}`;
  if (machine.nodeName !== undefined && machine.nodeName !== node.name)
    return `${what} has the providerID of node ${node.name}, and names node ${machine.nodeName} in its status`;
  return undefined;
}

type IdentityQuery<T> = {
  /** Words for the message to people: "several Machines have the providerID of node n1". */
  readonly words: { readonly of: string; readonly several: string; readonly none: string };
  readonly lackOf: (one: T) => string | undefined;
  /**
   * Function that reports whether the candidate looks like the object: the message explains why it
   * is not.
   */
  readonly isNear: (one: T) => boolean;
  readonly nameOf: (one: T) => string;
};

/** Returns the only candidate without a lack. */
function onlyOne<T>(
  among: Iterable<T>,
  { words, lackOf, isNear, nameOf }: IdentityQuery<T>,
): Identified<T> {
  const all = [...among];
  const [found, ...others] = all.filter(one => lackOf(one) === undefined);
  if (found !== undefined && others.length === 0) return { found };
  if (found !== undefined)
    return {
      lack: `several ${words.several} the providerID of ${words.of}: ${joinLimited([found, ...others].map(nameOf).toSorted(), 3)}`,
      isNear: true,
    };
  const near = all.find(isNear);
  const lack = near && lackOf(near);
  return lack === undefined
    ? { lack: `no ${words.none} the providerID of ${words.of}` }
    : { lack, isNear: true };
}

/** Returns the Machine of a Node among these: exactly one has its identity. */
export function machineOfNode<M extends MachineIdentity>(
  node: ProvidedNode,
  machines: Iterable<M>,
): Identified<M> {
  return onlyOne(machines, {
    words: { of: `node ${node.name}`, several: 'Machines have', none: 'Machine has' },
    lackOf: machine => identityLack(node, machine),
    isNear: ({ nodeName, providerId }) =>
      nodeName === node.name || isSameProviderId(node.providerId, providerId),
    nameOf: machineText,
  });
}

/**
 * Returns the names of nodes that a Machine may be, regardless of their providerIDs: many clouds
 * name nodes after their machines, or after an address.
 */
export function likelyNames({
  name,
  nodeName,
  addresses = [],
}: MachineIdentity): readonly string[] {
  return [...new Set([...(nodeName === undefined ? [] : [nodeName]), name, ...addresses])];
}

/** Reports whether nothing proves that the node is the Machine, and nothing that it is not. */
function isUndecided(node: ProvidedNode, machine: MachineIdentity): boolean {
  return (
    (node.providerId === undefined || machine.providerId === undefined) &&
    likelyNames(machine).includes(node.name)
  );
}

/** Returns the Node of a Machine among these: exactly one has its identity. */
export function nodeOfMachine<N extends ProvidedNode>(
  machine: MachineIdentity,
  nodes: Iterable<N>,
): Identified<N> {
  return onlyOne(nodes, {
    words: { of: machineText(machine), several: 'nodes have', none: 'node has' },
    lackOf: node => identityLack(node, machine),
    isNear: node =>
      node.name === machine.nodeName ||
      isSameProviderId(node.providerId, machine.providerId) ||
      isUndecided(node, machine),
    nameOf: ({ name }) => name,
  });
}
