import type { HostView, VmState, VmStatus } from '@drydock/core/vm';
import {
  findNovaConfig,
  type Nova,
  NovaConfigError,
  type NovaWhere,
  openNova,
} from '@drydock/openstack';
import { type Clock, UsageError } from '@drydock/utils';

/**
 * Returns the OpenStack that flags and environment name. Throws a UsageError that names what to
 * correct.
 */
export function novaOf(
  where: NovaWhere,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): Nova {
  try {
    return openNova(findNovaConfig(where, env), clock);
  } catch (error) {
    if (error instanceof NovaConfigError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

function to(target: string | undefined): string {
  return target === undefined ? '' : ` to ${target}`;
}

/** Messages of nova-kubernetes-drain where it has one, because users search for them. */
const words: Readonly<Record<VmState, (target: string) => string>> = {
  Waiting: () => 'waits',
  Migrating: target => `is migrating${target}`,
  Moved: target => `has been migrated.${target}`,
  Stopped: () => 'has been shut down',
  Cannot: () => 'has not been migrated, and cannot be',
  Left: () => 'stays',
};

function lineOf({ id, name, state, message, target }: VmStatus): string {
  return `VM: ${id} ${words[state](to(target))} (${name})${message === undefined ? '' : `: ${message}`}`;
}

/** A log with a line for every change of a host's VMs, without repetitions. */
export class MigrationLog {
  readonly #line: (text: string) => void;
  readonly #logged = new Map<string, string>();
  #problem: string | undefined;
  #hasBegun = false;

  constructor(line: (text: string) => void) {
    this.#line = line;
  }

  seen({ vms, problem }: HostView): void {
    if (problem !== this.#problem && problem !== undefined) this.#line(`Trouble: ${problem}`);
    this.#problem = problem;
    if (!this.#hasBegun && vms.length > 0) {
      this.#hasBegun = true;
      // Misspelt on purpose ("Retrive"): nova-kubernetes-drain spells it so, and users search for
      // it.
      this.#line(`Retrive list of ${vms.length} VMs for this host.`);
    }
    for (const vm of vms) {
      const text = lineOf(vm);
      if (this.#logged.get(vm.id) === text || (vm.state === 'Waiting' && vm.message === undefined))
        continue;
      this.#logged.set(vm.id, text);
      this.#line(text);
    }
  }
}
