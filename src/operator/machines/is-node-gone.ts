import { isMissing } from '../../core/status.ts';
import type { Log } from '../../support/log.ts';
import type { Api } from '../ports.ts';

/** Whether the API server says that it has no such node. Never rejects: who gets no answer knows nothing. */
export const isNodeGone = async (api: Api, nodeName: string, log: Log): Promise<boolean> => {
  try {
    const path = `/api/v1/nodes/${encodeURIComponent(nodeName)}`;
    const found = await api.call({ method: 'GET', path, priority: 'vital', timeoutMs: 10_000 });
    if (found.status !== 200 && !isMissing(nodeName, found)) log.warn('failed to look up a node', { node: nodeName, status: found.status });
    return isMissing(nodeName, found);
  } catch (error) {
    log.warn('failed to look up a node', { node: nodeName, error });
    return false;
  }
};
