import { joinLimited } from '../text.ts';
import type { Machine } from './machine.ts';
import { isSameProviderId } from './provider-id.ts';

/**
 * Which Machine a Node is. Both carry the same providerID, or they are not the same machine: names collide between the clusters whose Machines one management
 * cluster holds, and whoever may write a Machine chooses the node that its status names.
 */

/** A Node, as far as its identity goes. */
export type ProvidedNode = { readonly name: string; readonly providerId?: string };

/** A Machine, as far as its identity goes. */
export type MachineIdentity = Pick<Machine, 'namespace' | 'name' | 'providerId' | 'nodeName' | 'addresses'>;

/** What was looked for, or why nothing is taken for it. */
export type Identified<T> =
  | { readonly found: T }
  | {
      readonly lack: string;
      /** Something looks as if it were the one, and may be. */
      readonly isNear?: true;
    };

const machineText = ({ namespace, name }: MachineIdentity): string => `Machine ${namespace}/${name}`;

/** Why the Node is not this Machine; undefined where it is: the same providerID, and no other node that the Machine names as its own. */
export const identityLack = (node: ProvidedNode, machine: MachineIdentity): string | undefined => {
  const what = machineText(machine);
  if (node.providerId === undefined) return `node ${node.name} has no spec.providerID, which would prove that it is ${what}`;
  if (machine.providerId === undefined) return `${what} has no spec.providerID, which would prove that it is node ${node.name}`;
  if (!isSameProviderId(node.providerId, machine.providerId))
    return `${what} has providerID ${machine.providerId}, and node ${node.name} has ${node.providerId}`;
  if (machine.nodeName !== undefined && machine.nodeName !== node.name)
    return `${what} has the providerID of node ${node.name}, and names node ${machine.nodeName} in its status`;
  return undefined;
};

type IdentityQuery<T> = {
  /** What is looked for, for people: "several Machines have the providerID of node n1". */
  readonly words: { readonly of: string; readonly several: string; readonly none: string };
  readonly lackOf: (one: T) => string | undefined;
  /** It looks as if it were the one: why it is not is told. */
  readonly isNear: (one: T) => boolean;
  readonly nameOf: (one: T) => string;
};

/** The only one without a lack. */
const onlyOne = <T>(among: Iterable<T>, { words, lackOf, isNear, nameOf }: IdentityQuery<T>): Identified<T> => {
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
  return lack === undefined ? { lack: `no ${words.none} the providerID of ${words.of}` } : { lack, isNear: true };
};

/** The Machine of a Node among these: exactly one has its identity. */
export const machineOfNode = <M extends MachineIdentity>(node: ProvidedNode, machines: Iterable<M>): Identified<M> =>
  onlyOne(machines, {
    words: { of: `node ${node.name}`, several: 'Machines have', none: 'Machine has' },
    lackOf: machine => identityLack(node, machine),
    isNear: ({ nodeName, providerId }) => nodeName === node.name || isSameProviderId(node.providerId, providerId),
    nameOf: machineText,
  });

/** The names of nodes that a Machine may be, whatever their providerIDs say: many clouds name nodes as their machines, or after an address. */
export const likelyNames = ({ name, nodeName, addresses = [] }: MachineIdentity): readonly string[] => [
  ...new Set([...(nodeName === undefined ? [] : [nodeName]), name, ...addresses]),
];

/** Nothing proves that the node is the Machine, and nothing that it is not. */
const isUndecided = (node: ProvidedNode, machine: MachineIdentity): boolean =>
  (node.providerId === undefined || machine.providerId === undefined) && likelyNames(machine).includes(node.name);

/** The Node of a Machine among these: exactly one has its identity. */
export const nodeOfMachine = <N extends ProvidedNode>(machine: MachineIdentity, nodes: Iterable<N>): Identified<N> =>
  onlyOne(nodes, {
    words: { of: machineText(machine), several: 'nodes have', none: 'node has' },
    lackOf: node => identityLack(node, machine),
    isNear: node => node.name === machine.nodeName || isSameProviderId(node.providerId, machine.providerId) || isUndecided(node, machine),
    nameOf: ({ name }) => name,
  });
