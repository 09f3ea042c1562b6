import type { Api } from '@drydock/kube-client';
import { keyOf, type Manifest } from './install-files.ts';
import { isPart } from './install-parts.ts';
import { type StoredObject, sharedNamespaces } from './inventory.ts';
import { partLabel } from './ownership.ts';
import { Remover } from './remover.ts';

/** Removes objects of an installation that its parts no longer include. */

/**
 * Returns the objects of the installation that are not among the applied ones. Objects of no part
 * were applied by the user's choice, and stay.
 */
export function leftOver(
  here: readonly StoredObject[],
  applied: readonly Manifest[],
): readonly StoredObject[] {
  const keys = new Set(applied.map(keyOf));
  const shared = sharedNamespaces();
  return here.filter(
    object =>
      !keys.has(keyOf(object)) &&
      isPart(object.metadata.labels?.[partLabel]) &&
      !(object.kind === 'Namespace' && shared.includes(object.metadata.name)),
  );
}

/** Returns whether an object blocks every create when its server is missing. */
function isFailClosed({ kind }: Manifest): boolean {
  return kind === 'ValidatingWebhookConfiguration';
}

/** Removes left-over objects in the reverse order of installation, and prints a line for each. */
export class Pruning {
  readonly #remover: Remover;
  readonly #over: readonly StoredObject[];

  constructor(
    api: Api,
    { over, dryRun }: { readonly over: readonly StoredObject[]; readonly dryRun: boolean },
  ) {
    this.#remover = new Remover(api, { dryRun, removed: 'pruned' });
    this.#over = over.toReversed();
  }

  /**
   * Removes fail-closed objects. Call before anything is applied: the applied objects may stop
   * serving the webhook.
   */
  failClosed(): Promise<void> {
    return this.#removeAll(this.#over.filter(isFailClosed));
  }

  /** Removes the other objects. Call after everything is applied. */
  rest(): Promise<void> {
    return this.#removeAll(this.#over.filter(object => !isFailClosed(object)));
  }

  async #removeAll(all: readonly StoredObject[]): Promise<void> {
    const failed = await this.#remover.removeAll(all);
    if (failed > 0)
      throw new Error(`${failed} of ${all.length} objects could not be pruned; see above`);
  }
}
