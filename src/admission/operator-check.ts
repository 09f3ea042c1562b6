import { operatorPods, readOperatorPod, stayingOn } from '../core/maintenance/successor.ts';
import { readNode } from '../core/node/node.ts';
import { listLive } from './live.ts';
import { wantedNodes } from './quorum-check.ts';

/** A warning where a drain of the node would leave the operator itself on it. Nothing is refused for that, so nothing is said where it cannot be read. Rejects for defects only. */
export const operatorWarnings = async (
  { api, object, signal }: Parameters<typeof wantedNodes>[0],
  namespace: string,
  nodeName: string,
): Promise<readonly string[]> => {
  const found = await listLive(api, `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`, operatorPods, signal);
  const pods = found.kind === 'found' ? found.value.map(readOperatorPod) : [];
  // Nodes are many: they are read for the few that run the operator.
  if (!pods.some(pod => pod.nodeName === nodeName)) return [];
  const [nodes, wanted] = await Promise.all([listLive(api, '/api/v1/nodes', {}, signal), wantedNodes({ api, object, signal })]);
  if (nodes.kind !== 'found') return [];
  const others = wanted.kind === 'found' ? wanted.value : new Set<string>();
  const stays = stayingOn(nodeName, { pods, nodes: nodes.value.map(readNode), wanted: others });
  return stays === undefined ? [] : [stays];
};
