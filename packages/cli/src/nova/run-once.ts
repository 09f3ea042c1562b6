import { printableJson } from '@drydock/apimachinery';
import type { ComputeService } from '@drydock/core/hypervisor';
import { isMarked, matchHosts } from '@drydock/core/hypervisor';
import type { VmStatus } from '@drydock/core/vm';
import type { Nova, NovaFailure } from '@drydock/openstack';
import type { Clock, Log } from '@drydock/utils';
import { UsageError } from '@drydock/utils';
import { type Emptied, emptyOnce } from './emptying.ts';
import { hostOf, limitsOf, type NovaFlags, policyOf, timeOutMs } from './flags.ts';

export type RunOnceContext = {
  readonly nova: Nova;
  readonly clock: Clock;
  readonly log: Log;
  /** Printer of results. */
  readonly line: (text: string) => void;
  /** Printer of the full result, for programs. */
  readonly document: (text: string) => void;
  /** Printer of progress. */
  readonly note: (text: string) => void;
  readonly signal: AbortSignal;
};

function isForPeople({ kind }: NovaFailure): boolean {
  return kind === 'credentials' || kind === 'unfit' || kind === 'forbidden';
}

function bounded(names: readonly string[], most = 10): string {
  const sorted = [...names].sort();
  return sorted.length <= most
    ? sorted.join(', ')
    : `${sorted.slice(0, most).join(', ')} and ${sorted.length - most} more`;
}

/**
 * Returns the service of the host. Throws a UsageError where the login is refused or the host does
 * not exist.
 */
async function find({ nova, signal }: RunOnceContext, wanted: string): Promise<ComputeService> {
  const { value: services, failure } = await nova.services(signal);
  if (failure !== undefined)
    throw isForPeople(failure) ? new UsageError(failure.message) : new Error(failure.message);
  const hosts = services.map(({ host }) => ({ host }));
  const match = matchHosts([{ name: wanted }], hosts).get(wanted);
  if (match !== undefined && 'problem' in match)
    throw new UsageError(`${wanted}: ${match.problem}`);
  const found = services.find(({ host }) => host === match?.host);
  if (found !== undefined) return found;
  const known =
    services.length === 0
      ? 'Nova has no nova-compute at all'
      : `Nova has ${bounded(hosts.map(({ host }) => host))}`;
  throw new UsageError(
    `Cannot find nova-service with hostname: ${wanted}; ${known}. Name one with --host`,
  );
}

function staying({ id, name, state, message, remedy }: VmStatus): readonly string[] {
  return [
    `  ${name} (${id}) ${state}${message === undefined ? '' : `: ${message}`}`,
    ...(remedy === undefined ? [] : [`    ${remedy}`]),
  ];
}

function report(
  { end, view }: Emptied,
  host: string,
  flags: NovaFlags,
  { line, document, note }: RunOnceContext,
): void {
  const moved = view.vms.filter(({ state }) => state === 'Moved' || state === 'Stopped');
  const others = view.vms.filter(vm => !moved.includes(vm));
  if (end === 'late') note('Time out waiting for live-migration.');
  if (flags.output === 'json')
    document(
      printableJson(
        JSON.stringify({ host, empty: view.empty, end, vms: view.vms, problem: view.problem }),
      ),
    );
  else if (view.empty && others.length === 0) line('All VMs migrated');
  else if (view.empty)
    for (const row of [
      `${moved.length} VMs migrated; these stay, as the policy says:`,
      ...others.flatMap(staying),
    ])
      line(row);
  else {
    const trouble = view.problem === undefined ? [] : [`  ${view.problem}`];
    const head = `${moved.length} of ${view.vms.length} VMs migrated; these are left on ${host}:`;
    for (const row of [head, ...others.flatMap(staying), ...trouble]) line(row);
  }
}

/**
 * Empties the hypervisor of this machine, or the one that `--host` names. Returns whether all
 * servers that had to leave have left.
 */
export async function runOnce(flags: NovaFlags, surroundings: RunOnceContext): Promise<boolean> {
  const { nova, clock, log, note, signal } = surroundings;
  const timeOut = timeOutMs(flags);
  const limits = limitsOf(flags);
  const { host } = await find(surroundings, hostOf(flags));
  const desired = { why: flags.reason ?? 'emptied by hand', policy: policyOf(flags) };
  const emptied = await emptyOnce(
    { nova, clock, log, limits, host, desired, timeOutMs: timeOut, line: note },
    signal,
  );
  report(emptied, host, flags, surroundings);
  return emptied.view.empty;
}

/** Enables the service again, if `drydock nova` disabled it. Returns whether it is enabled now. */
export async function release(flags: NovaFlags, surroundings: RunOnceContext): Promise<boolean> {
  const { nova, log, line, signal } = surroundings;
  const service = await find(surroundings, hostOf(flags));
  if (service.isEnabled) {
    line(`${service.host} is enabled`);
    return true;
  }
  if (!isMarked('drydock nova: ', service.disabledReason)) {
    line(
      `${service.host} was disabled by somebody else, and stays so: ${service.disabledReason ?? 'no reason is given'}`,
    );
    return false;
  }
  log.info('Enabling hypervisor.', { host: service.host });
  const { failure } = await nova.perform({ kind: 'enable' }, service.id, signal);
  if (failure !== undefined) throw new Error(failure.message);
  line(`${service.host} is enabled`);
  return true;
}
