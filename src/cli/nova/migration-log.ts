import type { HostView } from '../../core/vm/host.ts';
import type { VmState, VmStatus } from '../../core/vm/vm-status.ts';

const to = (target: string | undefined): string => (target === undefined ? '' : ` to ${target}`);

/** nova-kubernetes-drain's words where it had any: people look for them. */
const words: Readonly<Record<VmState, (target: string) => string>> = {
  Waiting: () => 'waits',
  Migrating: target => `is migrating${target}`,
  Moved: target => `has been migrated.${target}`,
  Stopped: () => 'has been shut down',
  Cannot: () => 'has not been migrated, and cannot be',
  Left: () => 'stays',
};

const lineOf = ({ id, name, state, message, target }: VmStatus): string =>
  `VM: ${id} ${words[state](to(target))} (${name})${message === undefined ? '' : `: ${message}`}`;

/** A line for everything that happens to the VMs of a host; nothing is said twice. */
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
      // Sic: this is how it was spelt, and how it is searched for.
      this.#line(`Retrive list of ${vms.length} VMs for this host.`);
    }
    for (const vm of vms) {
      const text = lineOf(vm);
      if (this.#said.get(vm.id) === text || (vm.state === 'Waiting' && vm.message === undefined)) continue;
      this.#said.set(vm.id, text);
      this.#line(text);
    }
  }
}
