import { joinLimited, statusMessage } from '@drydock/apimachinery';
import type { Api } from '@drydock/kube-client';
import { errorText } from '@drydock/utils';
import { plainOutput } from '../shared/output.ts';
import { lineOf } from './install-lines.ts';
import { Locator } from './install-locate.ts';
import { type StoredObject, sharedNamespaces } from './inventory.ts';
import { othersIn } from './others.ts';
import { installationOf } from './ownership.ts';

/** Result for an object that was to be removed. */
type Removed =
  | { readonly result: 'removed' }
  /** The object stays, which is no failure. */
  | { readonly result: 'left alone'; readonly why: string }
  | { readonly result: 'failed'; readonly why: string };

/**
 * Removes objects of an installation, and prints the results. A dry run changes nothing and has the
 * same results.
 */
export class Remover {
  readonly #api: Api;
  readonly #words: Readonly<Record<Removed['result'], string>>;
  readonly #locator: Locator;
  readonly #dryRun: boolean;

  /** Creates a remover; `removed` is the word for removed objects. */
  constructor(
    api: Api,
    { dryRun, removed }: { readonly dryRun: boolean; readonly removed: 'pruned' | 'deleted' },
  ) {
    this.#api = api;
    this.#words = { removed, 'left alone': 'left alone', failed: 'FAILED' };
    this.#locator = new Locator(api);
    this.#dryRun = dryRun;
  }

  /**
   * Removes the objects in this order, with a line for each. Returns how many could not be removed.
   */
  async removeAll(all: readonly StoredObject[]): Promise<number> {
    let failed = 0;
    for (const object of all) {
      const removed = await this.#remove(object);
      if (removed.result === 'failed') failed += 1;
      plainOutput.line(
        lineOf(object, this.#words[removed.result], {
          ...removed,
          dryRun: this.#dryRun && removed.result === 'removed',
        }),
      );
    }
    return failed;
  }

  /**
   * Removes exactly this object: one recreated under its name stays. A namespace stays when others
   * use it.
   */
  async #remove(object: StoredObject): Promise<Removed> {
    const kept = object.kind === 'Namespace' ? await this.#keeps(object) : undefined;
    if (kept !== undefined) return { result: 'left alone', why: kept };
    const located = await this.#locator.find(object);
    if (located.kind === 'unknown') return { result: 'failed', why: located.why };
    const answer = await this.#api.call({
      method: 'DELETE',
      path: located.path,
      body: {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        // The API server ignores query parameters when the request has a body.
        ...(this.#dryRun && { dryRun: ['All'] }),
        propagationPolicy: 'Background',
        preconditions: { uid: object.metadata.uid },
      },
    });
    return [200, 202, 404].includes(answer.status)
      ? { result: 'removed' }
      : { result: 'failed', why: statusMessage(answer) };
  }

  async #keeps(object: StoredObject): Promise<string | undefined> {
    const { name: namespace } = object.metadata;
    if (sharedNamespaces().includes(namespace)) return 'other operators use it as well';
    const help = `kubectl delete namespace ${namespace} removes it with all that is in it`;
    try {
      const others = await othersIn(this.#api, namespace, installationOf(object) ?? '');
      return others.length === 0 ? undefined : `it also has ${joinLimited(others, 5)}; ${help}`;
    } catch (error) {
      return `nobody knows what else is in it (${errorText(error)}); ${help}`;
    }
  }
}
