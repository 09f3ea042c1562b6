import type { HostView, VmState, VmStatus } from '@drydock/core/vm';

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
  readonly #said = new Map<string, string>();
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
      if (this.#said.get(vm.id) === text || (vm.state === 'Waiting' && vm.message === undefined))
        continue;
      this.#said.set(vm.id, text);
      this.#line(text);
    }
  }
}
