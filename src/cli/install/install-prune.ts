import type { Api } from '../../operator/ports.ts';
import { keyOf, type Manifest } from './install-files.ts';
import { isPart } from './install-parts.ts';
import { type StoredObject, sharedNamespaces } from './inventory.ts';
import { partLabel } from './ownership.ts';
import { Remover } from './remover.ts';

/** Removing of an installation what its parts do not bring any more. */

/** Objects of the installation that are not among those that are applied. What no part brings was applied by somebody's own choice, and stays. */
export const leftOver = (here: readonly StoredObject[], applied: readonly Manifest[]): readonly StoredObject[] => {
  const keys = new Set(applied.map(keyOf));
  const shared = sharedNamespaces();
  return here.filter(
    object =>
      !keys.has(keyOf(object)) &&
      isPart(object.metadata.labels?.[partLabel]) &&
      !(object.kind === 'Namespace' && shared.includes(object.metadata.name)),
  );
};

/** Without what serves it, every create is refused. */
const isFailClosed = ({ kind }: Manifest): boolean => kind === 'ValidatingWebhookConfiguration';

/** Removes what is left over, in the reverse order of installation, and says so. */
export class Pruning {
  readonly #remover: Remover;
  readonly #over: readonly StoredObject[];

  constructor(api: Api, { over, dryRun }: { readonly over: readonly StoredObject[]; readonly dryRun: boolean }) {
    this.#remover = new Remover(api, { dryRun, removed: 'pruned' });
    this.#over = over.toReversed();
  }

  /** To be called before anything is applied: what is applied may stop to serve the webhook. */
  failClosed(): Promise<void> {
    return this.#removeAll(this.#over.filter(isFailClosed));
  }

  /** To be called when all is applied. */
  rest(): Promise<void> {
    return this.#removeAll(this.#over.filter(object => !isFailClosed(object)));
  }

  async #removeAll(all: readonly StoredObject[]): Promise<void> {
    const failed = await this.#remover.removeAll(all);
    if (failed > 0) throw new Error(`${failed} of ${all.length} objects could not be pruned; see above`);
  }
}
