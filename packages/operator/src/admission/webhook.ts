import type { WebhookKind } from '@drydock/apis/admission-rules';
import type { Api, Watcher } from '@drydock/kube-client';
import type { Clock, KeyPair, Log, PanicHandler } from '@drydock/utils';
import { AdmissionHandler } from './admission-handler.ts';
import { CaBundleInjector } from './certificates/ca-bundle-injector.ts';
import { followCertificate } from './certificates/follow.ts';
import { mountedPair, mountedPlaces } from './certificates/mounted.ts';
import { selfMade } from './certificates/self-made.ts';
import type { PlanProblems } from './plan-rules.ts';
import { type AdmissionVerdict, denied, type Review } from './review.ts';
import { serveWebhook, type WebhookServer } from './server.ts';

/** Options of the whole admission webhook. */
export type WebhookOptions = {
  readonly api: Api;
  readonly watcher: Watcher;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
  readonly port: number;
  /** Namespace of the operator: it contains the reservations and the self-made certificate. */
  readonly namespace: string;
  /** Service through which API servers reach the webhook. */
  readonly service: string;
  /** Further names and IP addresses under which it is reached. */
  readonly extraNames: readonly string[];
  readonly certDir?: string;
  /** Name of the ValidatingWebhookConfiguration whose caBundle is kept up to date. */
  readonly configuration: string;
  /**
   * PEM of the authorities that vouch for API servers, if those present certificates; all clients
   * are served if left out.
   */
  readonly clientCa?: string | undefined;
  /** Callback for every certificate that is presented. */
  readonly shown?: (pair: KeyPair) => void;
  readonly planProblems: PlanProblems;
  /** Function that is called once, before the first response. */
  readonly isOpenShift: (signal: AbortSignal) => Promise<boolean>;
};

export type Webhook = {
  readonly port: number;
  /** Reports whether it serves: the cluster is known and there is a certificate. */
  ready(): boolean;
  /** Goes on serving, so that no request is refused while API servers move to other replicas. */
  drain(): void;
  close(): Promise<void>;
};

/** Returns the names under which the API server reaches us. */
function namesOf({ service, namespace, extraNames }: WebhookOptions): readonly string[] {
  return [
    `${service}.${namespace}.svc`,
    `${service}.${namespace}.svc.cluster.local`,
    ...extraNames,
  ];
}

/** The logic behind the server, which listens before that logic is ready. */
class WebhookRuntime {
  readonly #options: WebhookOptions;
  readonly #signal: AbortSignal;
  readonly #injector: CaBundleInjector;
  #gate: AdmissionHandler | undefined;
  hasCertificate = false;

  constructor(options: WebhookOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#injector = new CaBundleInjector(options, signal);
  }

  /** Denies until `open` has completed its discovery. */
  decide(kind: WebhookKind, review: Review): Promise<AdmissionVerdict> {
    return (
      this.#gate?.decide(kind, review) ??
      Promise.resolve(denied('the validator is not initialized yet, please try again'))
    );
  }

  /** Runs until the signal is aborted. */
  async open(server: WebhookServer): Promise<void> {
    const { clock, log, defects, isOpenShift } = this.#options;
    const openShift = await isOpenShift(this.#signal);
    if (this.#signal.aborted) return;
    const gate = new AdmissionHandler({ ...this.#options, openShift });
    this.#gate = gate;
    log.info('serving the webhook', { port: server.port, openShift });
    const names = namesOf(this.#options);
    const certificates = {
      clock,
      log,
      defects,
      mounted: () => mountedPair(mountedPlaces(this.#options.certDir)),
      selfMade: (signal: AbortSignal) => selfMade({ ...this.#options, names }, signal),
      show: (pair: KeyPair) => {
        server.show(pair);
        this.hasCertificate = true;
        this.#options.shown?.(pair);
      },
      trust: (pem: string) => this.#injector.trust(pem),
    };
    await Promise.all([gate.sweep(), followCertificate(certificates, this.#signal)]);
    await Promise.all([gate.close(), this.#injector.done()]);
  }
}

/** Listens at once, and rejects if the port is not available; serves as soon as it is `ready`. */
export async function startWebhook(options: WebhookOptions): Promise<Webhook> {
  const { port, log, defects, clientCa } = options;
  const over = new AbortController();
  const office = new WebhookRuntime(options, over.signal);
  const server = await serveWebhook({
    port,
    log,
    defects,
    clientCa,
    decide: (kind, review) => office.decide(kind, review),
  });
  const work = office.open(server);
  return {
    port: server.port,
    ready: () => office.hasCertificate,
    drain: () => server.drain(),
    close: async () => {
      await server.close();
      over.abort(new Error('the webhook is closed'));
      await work;
    },
  };
}
