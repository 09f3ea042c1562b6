import { isObject, type JsonObject } from '../../core/json.ts';
import { statusMessage } from '../../core/status.ts';
import type { Api, CachedObject, Watcher } from '../../operator/ports.ts';
import type { Clock } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';
import type { PanicHandler } from '../../support/panic-handler.ts';

/** Tells the API servers whom to trust: keeps the caBundle of our webhooks up to date. */

export type TrustOptions = {
  readonly api: Api;
  readonly watcher: Watcher;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
  /** Name of the ValidatingWebhookConfiguration. */
  readonly configuration: string;
};

const collection = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

const retryMs = 2000;

/** What the watch may miss is put right after this. */
const recheckMs = 30_000;

/** So often it is put back at once; with whoever changes it more often than that, in ten minutes, nobody fights at full speed. */
const patience = 10;
const patienceMs = 600_000;
const maxRestraintMs = 60_000;

type ManagedField = { readonly manager?: string; readonly fieldsV1?: unknown };

type Configuration = {
  readonly metadata?: { readonly resourceVersion?: string; readonly managedFields?: readonly ManagedField[] };
  readonly webhooks?: readonly { readonly clientConfig?: { readonly caBundle?: string } }[];
};

/** The JSON patch that puts this bundle (PEM) into every webhook; undefined when it is everywhere already. */
export const bundlePatch = (configuration: JsonObject, pem: string): readonly JsonObject[] | undefined => {
  const { metadata, webhooks = [] } = configuration as Configuration;
  const value = Buffer.from(pem).toString('base64');
  const wrong = webhooks.flatMap(({ clientConfig }, index) => (clientConfig?.caBundle === value ? [] : [index]));
  if (wrong.length === 0) return undefined;
  // Webhooks have no keys in a JSON patch: their places are those of this version only.
  return [
    { op: 'test', path: '/metadata/resourceVersion', value: metadata?.resourceVersion },
    ...wrong.map(index => ({ op: 'add', path: `/webhooks/${index}/clientConfig/caBundle`, value })),
  ];
};

/** Who else has written a caBundle, as far as managedFields tell. */
const otherWriters = (configuration: JsonObject): readonly string[] => {
  const { managedFields = [] } = (configuration as Configuration).metadata ?? {};
  const writers = managedFields.filter(({ fieldsV1 }) => JSON.stringify(fieldsV1 ?? {}).includes('"f:caBundle"'));
  return [...new Set(writers.flatMap(({ manager = '' }) => (manager === '' || manager.startsWith('drydock') ? [] : [manager])))];
};

const project = (raw: unknown): CachedObject => {
  const { metadata } = raw as { readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string } };
  return { key: metadata.name, uid: metadata.uid, resourceVersion: metadata.resourceVersion };
};

/** Keeps one bundle in one configuration, from the first `trust` until the signal is aborted. */
export class CaBundleInjector {
  readonly #options: TrustOptions;
  readonly #signal: AbortSignal;
  #wanted = '';
  /** Ends the pause before the next look. */
  #wake = new AbortController();
  #work: readonly Promise<void>[] = [];
  #lastProblem = '';
  /** When the bundle was written. */
  #writes: readonly number[] = [];
  #isRestrained = false;
  /** It is not there, and whether that has been said. */
  #isAbsent: 'seen' | 'said' | undefined;

  constructor(options: TrustOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** From now on the webhooks are to trust these authorities (PEM). */
  trust(pem: string): void {
    if (pem === this.#wanted) return;
    this.#wanted = pem;
    this.#wake.abort();
    if (this.#work.length === 0) this.#work = [this.#keep(), this.#watch()];
  }

  /** Resolves when all has come to its end, after the signal. */
  async done(): Promise<void> {
    await Promise.all(this.#work);
  }

  async #keep(): Promise<void> {
    while (!this.#signal.aborted) {
      this.#wake = new AbortController();
      const pause = (await this.#isWritten()) ? recheckMs : retryMs;
      await this.#restrain();
      await this.#options.clock.sleep(pause, AbortSignal.any([this.#signal, this.#wake.signal]));
    }
  }

  /** Somebody else writes another bundle whenever this one is there: each of the two would have the API server busy with it for ever. */
  async #restrain(): Promise<void> {
    const { clock } = this.#options;
    const now = clock.now().epochMilliseconds;
    this.#writes = this.#writes.filter(at => now - at < patienceMs);
    const beyond = this.#writes.length - patience;
    if (beyond <= 0) this.#isRestrained = false;
    else await clock.sleep(Math.min(maxRestraintMs, 1000 * 2 ** (beyond - 1)), this.#signal);
  }

  #written(configuration: JsonObject): void {
    const { clock, log, configuration: name } = this.#options;
    this.#writes = [...this.#writes, clock.now().epochMilliseconds];
    this.#lastProblem = '';
    if (this.#writes.length <= patience) return log.info('injected caBundle', { configuration: name });
    if (this.#isRestrained) return;
    this.#isRestrained = true;
    const writers = otherWriters(configuration);
    log.warn('another writer keeps changing the caBundle, which is put back ever more slowly: let one of the two make the certificate', {
      configuration: name,
      ...(writers.length > 0 && { writers }),
    });
  }

  /** Whoever applies the manifest again wipes the bundle: that is seen at once, for until it is back nothing can be created. */
  #watch(): Promise<void> {
    const { watcher, configuration } = this.#options;
    const wake = (): void => this.#wake.abort();
    const sink = { changed: wake, synced: wake };
    return watcher.watch({ path: collection, fieldSelector: `metadata.name=${configuration}` }, project, sink, this.#signal);
  }

  async #isWritten(): Promise<boolean> {
    const { api, configuration, defects } = this.#options;
    const path = `${collection}/${encodeURIComponent(configuration)}`;
    try {
      const found = await api.call({ method: 'GET', path }, this.#signal);
      if (found.status === 404) return this.#absent();
      this.#isAbsent = undefined;
      if (found.status !== 200 || !isObject(found.body)) return this.#problem(statusMessage(found));
      const body = bundlePatch(found.body, this.#wanted);
      if (body === undefined) return true;
      const response = await api.call({ method: 'PATCH', path, body, contentType: 'application/json-patch+json' }, this.#signal);
      // 422: the test has failed, for somebody was quicker. The next look tells whether it was that.
      if (response.status === 409 || response.status === 422) return false;
      if (response.status !== 200) return this.#problem(statusMessage(response));
      this.#written(found.body);
      return true;
    } catch (error) {
      return this.#signal.aborted ? true : this.#problem(defects.textOf('Webhook', configuration, error));
    }
  }

  /** It may be installed a moment later; when it is not, somebody has given it another name, or wants no webhook. */
  #absent(): true {
    const { log, configuration } = this.#options;
    if (this.#isAbsent === 'seen')
      log.warn(
        'the webhook is served, but no ValidatingWebhookConfiguration has this name, so no API server asks it: install it, name it by --webhook-configuration-name, or serve none (--webhook-port=0)',
        { configuration },
      );
    this.#isAbsent = this.#isAbsent === undefined ? 'seen' : 'said';
    return true;
  }

  #problem(error: string): false {
    if (error !== this.#lastProblem) {
      this.#options.log.warn('failed to inject caBundle', { configuration: this.#options.configuration, error });
    }
    this.#lastProblem = error;
    return false;
  }
}
