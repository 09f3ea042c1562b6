import { isMissing, pathSegment } from '@drydock/apimachinery';
import type { MachineDecision } from '@drydock/core/machine';
import { isSameProviderId } from '@drydock/core/machine';
import type { Api } from '@drydock/kube-client';
import { vitalGet } from '@drydock/kube-client';
import type { Log } from '@drydock/utils';

/**
 * Reports whether the API server confirms that it has no such node. Rejects for defects only:
 * without a response the result is false.
 */
export async function isNodeGone(api: Api, nodeName: string, log: Log): Promise<boolean> {
  const path = `/api/v1/nodes/${pathSegment(nodeName)}`;
  const found = await vitalGet(api, path, error =>
    log.warn('failed to look up a node', { node: nodeName, error }),
  );
  if (found === undefined) return false;
  if (found.status !== 200 && !isMissing(nodeName, found))
    log.warn('failed to look up a node', { node: nodeName, status: found.status });
  return isMissing(nodeName, found);
}

/** Nodes per page. */
const pageSize = 500;

type Page = {
  readonly metadata?: { readonly continue?: string };
  readonly items?: readonly { readonly spec?: { readonly providerID?: string } }[];
};

/**
 * Reports whether the API server confirms that none of all its nodes has this providerID. Rejects
 * for defects only: without a response the result is false.
 */
async function hasNoNode(api: Api, providerId: string, log: Log): Promise<boolean> {
  let next = '';
  do {
    const query = { limit: pageSize, ...(next !== '' && { continue: next }) };
    const page = await vitalGet(
      api,
      '/api/v1/nodes',
      error => log.warn('failed to look up a node', { providerId, error }),
      query,
    );
    if (page === undefined) return false;
    if (page.status !== 200) {
      log.warn('failed to look up a node', { providerId, status: page.status });
      return false;
    }
    const { items = [], metadata } = page.body as Page;
    if (items.some(({ spec }) => isSameProviderId(spec?.providerID, providerId))) return false;
    next = metadata?.continue ?? '';
  } while (next !== '');
  return true;
}

/**
 * Reports whether the API server itself confirms that a node that no watch has delivered does not
 * exist.
 */
export function isUnseenGone(
  api: Api,
  unseen: NonNullable<MachineDecision['unseenNode']>,
  log: Log,
): Promise<boolean> {
  return 'name' in unseen
    ? isNodeGone(api, unseen.name, log)
    : hasNoNode(api, unseen.providerId, log);
}
