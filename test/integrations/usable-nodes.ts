import type { Api } from '../control-plane/objects/api.ts';
import { isReady, type List, type Metadata, type Node } from '../control-plane/objects/objects.ts';

/** How many nodes of a pool could take pods, while its machines are replaced. */

type MachineWithNode = { readonly status?: { readonly nodeRef?: { readonly name: string } } };

async function nodesNow(api: Api): Promise<readonly (Node & { readonly metadata: Metadata })[]> {
  return (await api.get<List<Node>>('/api/v1/nodes')).items;
}

/** Names of the nodes that are none of these machines. */
export async function nodesWithout(
  api: Api,
  machines: readonly MachineWithNode[],
): Promise<readonly string[]> {
  const named = new Set(machines.map(({ status }) => status?.nodeRef?.name));
  return (await nodesNow(api))
    .map(({ metadata }) => metadata.name)
    .filter(name => !named.has(name));
}

/**
 * Nodes of one answer that could take pods, without the strangers. Machines and nodes that are
 * asked for one after the other are of no one moment: a new machine without its node yet, its old
 * one cordoned already.
 */
export async function usableNodes(api: Api, strangers: ReadonlySet<string>): Promise<number> {
  return (await nodesNow(api)).filter(
    node => !strangers.has(node.metadata.name) && isReady(node) && node.spec.unschedulable !== true,
  ).length;
}

/** Asks again and again; the answer ends that, and says how few there were at the worst. */
export function minUsable(api: Api, strangers: ReadonlySet<string>): () => Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  const state = { on: true };
  const looking = (async () => {
    while (state.on) least = Math.min(least, await usableNodes(api, strangers));
  })();
  return async () => {
    state.on = false;
    await looking;
    return least;
  };
}
