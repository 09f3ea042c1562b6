import { pathSegment } from '@drydock/apimachinery';
import { operatorPods, readOperatorPod, stayingOn } from '@drydock/core/maintenance';
import { readNode } from '@drydock/core/node';
import { listLive } from './live.ts';
import { wantedNodes } from './quorum-check.ts';

/**
 * Returns a warning if a drain of the node would leave the operator itself on it. The request is
 * not refused for that, so an unreadable list gives no warning. Rejects for defects only.
 */
export async function operatorWarnings(
  { api, object, signal }: Parameters<typeof wantedNodes>[0],
  namespace: string,
  nodeName: string,
): Promise<readonly string[]> {
  const found = await listLive(
    api,
    `/api/v1/namespaces/${pathSegment(namespace)}/pods`,
    operatorPods,
    signal,
  );
  const pods = found.kind === 'found' ? found.value.map(readOperatorPod) : [];
  // There are many nodes: they are listed only for the few that run the operator.
  if (!pods.some(pod => pod.nodeName === nodeName)) return [];
  const [nodes, wanted] = await Promise.all([
    listLive(api, '/api/v1/nodes', {}, signal),
    wantedNodes({ api, object, signal }),
  ]);
  if (nodes.kind !== 'found') return [];
  const others = wanted.kind === 'found' ? wanted.value : new Set<string>();
  const stays = stayingOn(nodeName, { pods, nodes: nodes.value.map(readNode), wanted: others });
  return stays === undefined ? [] : [stays];
}
