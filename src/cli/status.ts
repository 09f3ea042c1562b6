import { readNode } from '../core/hold/node.ts';
import { byAge, type Dialect, type Request } from '../core/request/request.ts';
import { connect } from '../kube/connect.ts';
import { listAll } from '../operator/list.ts';
import type { Api } from '../operator/ports.ts';
import { glanceAt } from './glance.ts';
import { kindsOf } from './kinds.ts';
import { type Blocked, blockersNow } from './status-blockers.ts';
import { type Shown, statusTable } from './status-table.ts';
import { version } from './version.ts';

export type StatusFlags = { readonly kubeconfig?: string; readonly context?: string; readonly output: 'table' | 'json' };

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The phase as the kind itself spells it. */
const shown = (request: Request, blockers: readonly Blocked[]): Shown => {
  const { status, dialect, history } = request;
  return {
    node: request.nodeName,
    kind: dialect.kind,
    name: request.name,
    phase: request.deleting ? 'Releasing' : textOf(status['phase']) || 'New',
    stage: request.stage,
    reason: request.reason ?? '',
    progress: history.toEvict === 0 ? '-' : `${history.gone}/${history.toEvict}`,
    since: request.createdAt.toString({ smallestUnit: 'second' }),
    message: textOf(status['message']) || textOf(status['lastError']),
    blockers,
  };
};

const requestsOf = async (api: Api, node: string | undefined, dialects: readonly Dialect[]): Promise<readonly Request[]> => {
  const lists = await Promise.all(
    dialects.map(async dialect => {
      const objects = await listAll(api, dialect.path, {}, 'none if missing');
      return objects.map(dialect.read).filter(request => typeof request !== 'string');
    }),
  );
  return lists
    .flat()
    .filter(({ nodeName }) => node === undefined || nodeName === node)
    .toSorted(byAge);
};

const blockersOn = async (api: Api, nodeName: string, requests: readonly Request[]): Promise<ReadonlyMap<string, readonly Blocked[]>> => {
  const glance = await glanceAt(api, nodeName);
  const now = Temporal.Now.instant();
  return new Map(requests.map(request => [request.key, blockersNow(request, glance, now)] as const));
};

/** Cordoned nodes that no maintenance answers for: people ask `status` who holds a node, and "nobody here" is an answer. */
const cordonedByOthers = async (api: Api, node: string | undefined, requests: readonly Request[]): Promise<readonly string[]> => {
  const nodes = (await listAll(api, '/api/v1/nodes')).map(readNode);
  const known = new Set(requests.map(({ nodeName }) => nodeName));
  return nodes
    .filter(one => one.unschedulable && !known.has(one.name) && (node === undefined || one.name === node))
    .map(({ name }) => name);
};

const isWorking = ({ deleting, history, stage }: Request): boolean => !deleting && stage === 'Drain' && history.state !== 'Drained';

/** `drydock status [NODE]`: reads the cluster once and prints it. Nothing is written. */
export const status = async (
  node: string | undefined,
  flags: StatusFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> => {
  const connection = await connect({ kubeconfig: flags.kubeconfig, context: flags.context, env, userAgent: `drydock/${version()}` });
  try {
    const requests = await requestsOf(connection, node, await kindsOf(connection, env));
    const nodes = [...new Set(requests.filter(isWorking).map(({ nodeName }) => nodeName))];
    const blockers = new Map<string, readonly Blocked[]>();
    for (const name of nodes) {
      const found = await blockersOn(
        connection,
        name,
        requests.filter(({ nodeName }) => nodeName === name),
      );
      for (const [key, list] of found) blockers.set(key, list);
    }
    const all = requests.map(request => shown(request, blockers.get(request.key) ?? []));
    const others = await cordonedByOthers(connection, node, requests);
    const text =
      flags.output === 'json'
        ? JSON.stringify({ maintenances: all, cordonedByOthers: others }, undefined, 2)
        : statusTable(all, others, node);
    process.stdout.write(`${text}\n`);
  } finally {
    connection.close();
  }
};
