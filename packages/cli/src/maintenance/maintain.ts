import type { JsonObject } from '@drydock/apimachinery';
import { joinLimited, joinRows } from '@drydock/apimachinery';
import { leaseNamespaces, maintenance } from '@drydock/apis';
import type { MaintenanceStatus } from '@drydock/apis/schema';
import type { KindAdapter, MaintenanceLevel, MaintenanceRequest } from '@drydock/core/request';
import { creation, maintenanceObject, notServed } from '@drydock/core/request';
import type { Connection } from '@drydock/kube-client';
import type { Env } from '@drydock/utils';
import { UsageError } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { integer, seconds } from '../shared/fail.ts';
import { nodePath } from '../shared/nodes.ts';
import { type Output, plainOutput } from '../shared/output.ts';
import { ApiError, follow, refusedError, titleOf } from '../shared/requests.ts';
import { withCluster } from '../shared/with-cluster.ts';

export type MaintainFlags = ConnectionFlags & {
  readonly name?: string;
  readonly reason?: string;
  readonly requester?: string;
  readonly level: string;
  readonly force?: boolean;
  readonly deleteEmptydirData?: boolean;
  readonly disableEviction?: boolean;
  readonly gracePeriod: string;
  readonly timeout: string;
  readonly wait?: boolean;
};

const levels: readonly MaintenanceLevel[] = ['Announce', 'Cordon', 'Drain'];

function isStage(text: string): text is MaintenanceLevel {
  return (levels as readonly string[]).includes(text);
}

/**
 * Returns the object for these flags. Throws a UsageError that names the flag and its valid values.
 */
export function maintenanceFor(node: string, flags: MaintainFlags): JsonObject {
  const { level } = flags;
  if (!isStage(level))
    throw new UsageError(
      `invalid value "${flags.level}" for --level: expected ${levels.join(', ')}`,
    );
  const timeoutSeconds = Math.round(seconds('--timeout', flags.timeout));
  const gracePeriodSeconds = Math.max(-1, integer('--grace-period', flags.gracePeriod));
  return maintenanceObject({
    node,
    level,
    ...(flags.name !== undefined && { name: flags.name }),
    ...(flags.reason !== undefined && { reason: flags.reason }),
    ...(flags.requester !== undefined && { requester: flags.requester }),
    drain: {
      force: flags.force === true,
      deleteEmptyDirData: flags.deleteEmptydirData === true,
      disableEviction: flags.disableEviction === true,
      gracePeriodSeconds,
      timeoutSeconds: Math.max(0, timeoutSeconds),
    },
  });
}

async function create(
  connection: Connection,
  adapter: KindAdapter,
  body: JsonObject,
): Promise<MaintenanceRequest> {
  const response = await connection.call(creation(adapter, body));
  if (response.status === 404) throw new ApiError(notServed);
  if (response.status !== 201) throw refusedError(response);
  const request = adapter.read(response.body);
  if (typeof request === 'string') throw new ApiError(request);
  return request;
}

/** Returns whether the node has reached the wanted state, or has failed for good. */
function isSettled({ level, history }: MaintenanceRequest): boolean {
  if (history.state === 'Failed') return true;
  return level === 'Drain'
    ? history.state === 'Drained'
    : history.state === (level === 'Cordon' ? 'Cordoned' : 'Announced');
}

function news({ status }: MaintenanceRequest): readonly string[] {
  const { message = '', blockers = [] } = status as MaintenanceStatus;
  const texts = new Map<string, string[]>();
  for (const { pod, volume = '', message, remedy, reason } of blockers) {
    if (reason === 'Terminating' || reason === 'EarlierWave') continue;
    const text = remedy === undefined ? message : `${message}; help: ${remedy}`;
    texts.set(text, [...(texts.get(text) ?? []), pod ? `${pod.namespace}/${pod.name}` : volume]);
  }
  return [
    message,
    ...[...texts].map(([text, whats]) => `  ${joinLimited(whats, 5)}: ${text}`),
  ].filter(text => text !== '');
}

/** Prints changes until the node has reached the wanted state. Returns how it ended. */
async function watchOver(
  connection: Connection,
  request: MaintenanceRequest,
  output: Output,
): Promise<'done' | 'failed' | 'gone'> {
  let ending: 'done' | 'failed' | 'gone' = 'gone';
  let lastText = '';
  await follow(
    connection,
    request,
    now => {
      if (now === undefined) return 'done';
      const rows = news(now);
      const text = joinRows(rows);
      if (text !== lastText) for (const row of rows) output.line(row);
      lastText = text;
      if (!isSettled(now)) return 'continue';
      ending = now.history.state === 'Failed' ? 'failed' : 'done';
      return 'done';
    },
    new AbortController().signal,
  );
  return ending;
}

function report(
  ending: 'done' | 'failed' | 'gone',
  request: MaintenanceRequest,
  output: Output,
): void {
  if (ending === 'done')
    return output.line(
      `node/${request.nodeName} ${request.level === 'Drain' ? 'drained and held' : 'as wanted'}`,
    );
  process.exitCode = 1;
  output.note(
    ending === 'gone'
      ? `error: ${titleOf(request)} has been deleted by somebody`
      : `error: ${titleOf(request)} has failed; the node may still be held: drydock status ${request.nodeName}`,
  );
}

/**
 * `drydock maintain NODE`: creates a Maintenance for the node, and follows it with --wait. Throws
 * an ApiError with the server's message.
 */
export function maintain(node: string, flags: MaintainFlags, env: Env): Promise<void> {
  const body = maintenanceFor(node, flags);
  return withCluster(flags, env, async connection => {
    const found = await connection.call({ method: 'GET', path: nodePath(node) });
    // Users who may create maintenances may lack the right to read nodes: then the operator reports
    // a missing node.
    if (found.status !== 200 && found.status !== 403) throw refusedError(found);
    const request = await create(
      connection,
      maintenance(leaseNamespaces(env).leaseNamespace),
      body,
    );
    plainOutput.line(`maintenance.drydock.dev/${request.name} created`);
    if (flags.wait === true)
      report(await watchOver(connection, request, plainOutput), request, plainOutput);
  });
}
