import type { Output } from '../shared/output.ts';
import { resultLine } from './cordon.ts';
import type { Tale } from './node-drain.ts';
import { aggregate } from './words.ts';

/** Tells the story of a drain in kubectl's lines, and remembers how it ended. */
export class Teller {
  readonly #output: () => Output;
  readonly #verb: 'evicted' | 'deleted';
  readonly #errors = new Map<string, readonly string[]>();

  constructor(output: () => Output, verb: 'evicted' | 'deleted') {
    this.#output = output;
    this.#verb = verb;
  }

  /** Nodes that could not be drained, with why. */
  get errors(): ReadonlyMap<string, readonly string[]> {
    return this.#errors;
  }

  tell(nodeName: string, tale: Tale): void {
    const { line, note } = this.#output();
    switch (tale.kind) {
      case 'warning':
        return note(tale.text);
      case 'evicting':
        // kubectl says nothing at the start of a plain deletion.
        return this.#verb === 'evicted' ? line(`evicting pod ${tale.pod.key}`) : undefined;
      case 'left':
        return line(`pod/${tale.pod.name} ${this.#verb}`);
      case 'skipped':
        return line(`pod "${tale.pod.name}" has been terminating for too long, skipping`);
      case 'waits':
        return note(`node/${nodeName} waits: ${tale.text}`);
      case 'ended':
        return this.#ended(nodeName, tale);
      default:
        return tale satisfies never;
    }
  }

  /** A node that did not even get as far as to be drained. */
  failed(nodeName: string, ...errors: readonly string[]): void {
    this.#errors.set(nodeName, errors);
    this.#output().note(`error: unable to drain node "${nodeName}" due to error: ${aggregate(errors)}, continuing command...`);
  }

  #ended(nodeName: string, { errors, pending }: Extract<Tale, { readonly kind: 'ended' }>): void {
    const { line, note } = this.#output();
    if (errors.length === 0) return line(resultLine(`node/${nodeName}`, 'drained', 'none'));
    if (pending.length > 0) {
      note(`There are pending pods in node "${nodeName}" when an error occurred: ${aggregate(errors)}`);
      for (const { name } of pending) note(`pod/${name}`);
    }
    this.failed(nodeName, ...errors);
  }
}
