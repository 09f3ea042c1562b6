import type { Output } from '../shared/output.ts';
import { resultLine } from './cordon.ts';
import type { DrainUpdate } from './node-drain.ts';
import { aggregate } from './words.ts';

/** Prints the updates of a drain in kubectl's lines, and remembers its outcome. */
export class ProgressPrinter {
  readonly #output: () => Output;
  readonly #verb: 'evicted' | 'deleted';
  readonly #errors = new Map<string, readonly string[]>();

  constructor(output: () => Output, verb: 'evicted' | 'deleted') {
    this.#output = output;
    this.#verb = verb;
  }

  /** Errors of nodes that could not be drained. */
  get errors(): ReadonlyMap<string, readonly string[]> {
    return this.#errors;
  }

  tell(nodeName: string, update: DrainUpdate): void {
    const { line, note } = this.#output();
    switch (update.kind) {
      case 'warning':
        return note(update.text);
      case 'evicting':
        // kubectl prints nothing at the start of a plain deletion.
        return this.#verb === 'evicted' ? line(`evicting pod ${update.pod.key}`) : undefined;
      case 'left':
        return line(`pod/${update.pod.name} ${this.#verb}`);
      case 'skipped':
        return line(`pod "${update.pod.name}" has been terminating for too long, skipping`);
      case 'waits':
        return note(`node/${nodeName} waits: ${update.text}`);
      case 'ended':
        return this.#ended(nodeName, update);
      default:
        return update satisfies never;
    }
  }

  /** Prints and remembers the errors of a node whose drain could not start. */
  failed(nodeName: string, ...errors: readonly string[]): void {
    this.#errors.set(nodeName, errors);
    this.#output().note(
      `error: unable to drain node "${nodeName}" due to error: ${aggregate(errors)}, continuing command...`,
    );
  }

  #ended(
    nodeName: string,
    { errors, pending }: Extract<DrainUpdate, { readonly kind: 'ended' }>,
  ): void {
    const { line, note } = this.#output();
    if (errors.length === 0) return line(resultLine(`node/${nodeName}`, 'drained', 'none'));
    if (pending.length > 0) {
      note(
        `There are pending pods in node "${nodeName}" when an error occurred: ${aggregate(errors)}`,
      );
      for (const { name } of pending) note(`pod/${name}`);
    }
    this.failed(nodeName, ...errors);
  }
}
