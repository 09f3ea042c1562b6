import type { HostCall } from '@drydock/core/hypervisor';
import type { Fence } from '@drydock/kube-client';
import type { Log } from '@drydock/utils';
import type { HostState, HostTask } from './host-state.ts';
import type { NovaFailure } from './identity.ts';
import type { Nova } from './nova.ts';

/** Counter of calls to Nova by outcome. */
export interface NovaMeter {
  asked(kind: HostCall['kind'], outcome: 'accepted' | NovaFailure['kind']): void;
}

export type NovaDeps = {
  readonly nova: Nova;
  readonly log: Log;
  readonly meter?: NovaMeter | undefined;
  readonly fence?: Fence | undefined;
};

/** Messages of nova-kubernetes-drain where it has one, because users search for them. */
const begun: Partial<Record<HostCall['kind'], string>> = {
  disable: 'Disabling hypervisor.',
  enable: 'Enabling hypervisor.',
};

function done(call: HostCall): string {
  if (call.kind === 'disable') return 'Node disabled.';
  if (call.kind === 'enable') return 'Node enabled.';
  if (call.kind === 'live-migrate')
    return `Request to migrate VM with BlockMigration ${call.server} accepted`;
  return {
    'cold-migrate': 'asked for the migration of a stopped VM',
    confirm: 'confirmed the migration of a stopped VM',
    abort: 'called a queued migration off',
  }[call.kind];
}

function isOfServer(kind: NovaFailure['kind']): boolean {
  return kind === 'conflict' || kind === 'refused' || kind === 'forbidden';
}

/** Records the consequence of Nova's refusal. Returns whether the other calls still make sense. */
function refused(
  hostState: HostState,
  call: HostCall,
  { kind, message }: NovaFailure,
  now: Temporal.Instant,
): boolean {
  if (kind === 'missing') return true;
  if (call.kind === 'live-migrate' || call.kind === 'cold-migrate') {
    hostState.refused(call.server, message, now, isOfServer(kind));
    return isOfServer(kind);
  }
  return (
    (call.kind === 'confirm' || call.kind === 'abort') &&
    (kind === 'conflict' || kind === 'refused')
  );
}

/**
 * Sends the calls, one after the other, and records what Nova does not store. Returns why the rest
 * was not sent, if Nova is unusable at the moment. Rejects with the signal's reason only.
 */
export async function executeCalls(
  { nova, log, meter, fence }: NovaDeps,
  calls: readonly HostCall[],
  hostState: HostState,
  task: HostTask,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const call of calls) {
    // Another replica leads by now, and decides.
    if (fence?.mayAct() === false) return undefined;
    const fields = { host: task.host, ...('server' in call && { server: call.server }) };
    const first = begun[call.kind];
    if (first !== undefined) log.info(first, fields);
    const { failure } = await nova.perform(call, task.service.id, signal);
    meter?.asked(call.kind, failure?.kind ?? 'accepted');
    if (failure === undefined) {
      if ('server' in call) hostState.accepted(call.server);
      log.info(done(call), fields);
      continue;
    }
    log.warn('Nova refused a request', { ...fields, what: call.kind, error: failure.message });
    if (!refused(hostState, call, failure, nova.now())) return failure.message;
  }
  return undefined;
}
