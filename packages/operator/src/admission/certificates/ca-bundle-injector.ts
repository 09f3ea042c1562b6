import { isObject, type JsonObject, pathSegment, statusMessage } from '@drydock/apimachinery';
import type { Api, CachedObject, Watcher } from '@drydock/kube-client';
import type { Clock, Log, PanicHandler } from '@drydock/utils';

/**
 * A configuration of the CA bundle: keeps the caBundle of our webhooks up to date, so that API
 * servers trust them.
 */

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

/** Milliseconds after which a change that the watch has missed is corrected. */
const recheckMs = 30_000;

/**
 * Number of corrections without a pause within `patienceMs` (ten minutes). If another writer
 * changes the bundle more often, corrections become slower.
 */
const patience = 10;
const patienceMs = 600_000;
const maxRestraintMs = 60_000;

type ManagedField = { readonly manager?: string; readonly fieldsV1?: unknown };

type Configuration = {
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly managedFields?: readonly ManagedField[];
  };
  readonly webhooks?: readonly { readonly clientConfig?: { readonly caBundle?: string } }[];
};

/**
 * Returns the JSON patch that puts this bundle (PEM) into every webhook; undefined if all have it.
 */
export function bundlePatch(
  configuration: JsonObject,
  pem: string,
): readonly JsonObject[] | undefined {
  const { metadata, webhooks = [] } = configuration as Configuration;
  const value = Buffer.from(pem).toString('base64');
  const wrong = webhooks.flatMap(({ clientConfig }, index) =>
    clientConfig?.caBundle === value ? [] : [index],
  );
  if (wrong.length === 0) return undefined;
  // Webhooks have no keys in a JSON patch: their indexes are valid for this version only.
  return [
    { op: 'test', path: '/metadata/resourceVersion', value: metadata?.resourceVersion },
    ...wrong.map(index => ({ op: 'add', path: `/webhooks/${index}/clientConfig/caBundle`, value })),
  ];
}

/** Returns the other writers of a caBundle, as far as managedFields show. */
function otherWriters(configuration: JsonObject): readonly string[] {
  const { managedFields = [] } = (configuration as Configuration).metadata ?? {};
  const writers = managedFields.filter(({ fieldsV1 }) =>
    JSON.stringify(fieldsV1 ?? {}).includes('"f:caBundle"'),
  );
  return [
    ...new Set(
      writers.flatMap(({ manager = '' }) =>
        manager === '' || manager.startsWith('drydock') ? [] : [manager],
      ),
    ),
  ];
}

function project(raw: unknown): CachedObject {
  const { metadata } = raw as {
    readonly metadata: {
      readonly name: string;
      readonly uid: string;
      readonly resourceVersion: string;
    };
  };
  return { key: metadata.name, uid: metadata.uid, resourceVersion: metadata.resourceVersion };
}

/**
 * An injector that keeps one bundle in one configuration, from the first `trust` until the signal
 * is aborted.
 */
export class CaBundleInjector {
  readonly #options: TrustOptions;
  readonly #signal: AbortSignal;
  #wanted = '';
  /** Controller that ends the pause before the next look. */
  #wake = new AbortController();
  #work: readonly Promise<void>[] = [];
  #lastProblem = '';
  /** Times at which the bundle was written, in milliseconds since the epoch. */
  #writes: readonly number[] = [];
  #isRestrained = false;
  /** State of a missing configuration: seen, or also logged. */
  #isAbsent: 'seen' | 'reported' | undefined;

  constructor(options: TrustOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** Makes the webhooks trust these authorities (PEM) from now on. */
  trust(pem: string): void {
    if (pem === this.#wanted) return;
    this.#wanted = pem;
    this.#wake.abort();
    if (this.#work.length === 0) this.#work = [this.#keep(), this.#watch()];
  }

  /** Resolves when all work has ended, after the signal. */
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

  /**
   * Slows down while another writer replaces the bundle again and again: the two would keep the API
   * server busy for ever.
   */
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
    if (this.#writes.length <= patience)
      return log.info('injected caBundle', { configuration: name });
    if (this.#isRestrained) return;
    this.#isRestrained = true;
    const writers = otherWriters(configuration);
    log.warn(
      'another writer keeps changing the caBundle, which is put back ever more slowly: let one of the two make the certificate',
      {
        configuration: name,
        ...(writers.length > 0 && { writers }),
      },
    );
  }

  /**
   * Watches the configuration. A user who applies the manifest again deletes the bundle: that is
   * noticed at once, because no object can be created until it is back.
   */
  #watch(): Promise<void> {
    const { watcher, configuration } = this.#options;
    const wake = (): void => this.#wake.abort();
    const sink = { changed: wake, synced: wake };
    return watcher.watch(
      { path: collection, fieldSelector: `metadata.name=${configuration}` },
      project,
      sink,
      this.#signal,
    );
  }

  async #isWritten(): Promise<boolean> {
    const { api, configuration, defects } = this.#options;
    const path = `${collection}/${pathSegment(configuration)}`;
    try {
      const found = await api.call({ method: 'GET', path }, this.#signal);
      if (found.status === 404) return this.#absent();
      this.#isAbsent = undefined;
      if (found.status !== 200 || !isObject(found.body)) return this.#problem(statusMessage(found));
      const body = bundlePatch(found.body, this.#wanted);
      if (body === undefined) return true;
      const response = await api.call(
        { method: 'PATCH', path, body, contentType: 'application/json-patch+json' },
        this.#signal,
      );
      // 422: the test has failed, because another writer was faster. The next look shows whether
      // that is the reason.
      if (response.status === 409 || response.status === 422) return false;
      if (response.status !== 200) return this.#problem(statusMessage(response));
      this.#written(found.body);
      return true;
    } catch (error) {
      return this.#signal.aborted
        ? true
        : this.#problem(defects.textOf('Webhook', configuration, error));
    }
  }

  /**
   * Handles a missing configuration. It may be installed a moment later; otherwise it has another
   * name, or no webhook is wanted.
   */
  #absent(): true {
    const { log, configuration } = this.#options;
    if (this.#isAbsent === 'seen')
      log.warn(
        'the webhook is served, but no ValidatingWebhookConfiguration has this name, so no API server asks it: install it, name it by --webhook-configuration-name, or serve none (--webhook-port=0)',
        { configuration },
      );
    this.#isAbsent = this.#isAbsent === undefined ? 'seen' : 'reported';
    return true;
  }

  #problem(error: string): false {
    if (error !== this.#lastProblem) {
      this.#options.log.warn('failed to inject caBundle', {
        configuration: this.#options.configuration,
        error,
      });
    }
    this.#lastProblem = error;
    return false;
  }
}
