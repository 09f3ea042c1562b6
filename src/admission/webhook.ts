import type { WebhookKind } from '../apis/admission-rules/admission.ts';
import type { Api, Watcher } from '../operator/ports.ts';
import type { Clock } from '../support/clock.ts';
import type { KeyPair } from '../support/key-pair.ts';
import type { Log } from '../support/log.ts';
import type { PanicHandler } from '../support/panic-handler.ts';
import { AdmissionHandler } from './admission-handler.ts';
import { CaBundleInjector } from './certificates/ca-bundle-injector.ts';
import { followCertificate } from './certificates/follow.ts';
import { mountedPair, mountedPlaces } from './certificates/mounted.ts';
import { selfMade } from './certificates/self-made.ts';
import type { PlanProblems } from './plan-rules.ts';
import { type AdmissionVerdict, denied, type Review } from './review.ts';
import { serveWebhook, type WebhookServer } from './server.ts';

/** The whole of the admission room. */
export type WebhookOptions = {
  readonly api: Api;
  readonly watcher: Watcher;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
  readonly port: number;
  /** The operator's own: reservations and the self-made certificate are kept there. */
  readonly namespace: string;
  /** The Service through which API servers reach the webhook. */
  readonly service: string;
  /** More names and IP addresses by which it is reached. */
  readonly extraNames: readonly string[];
  readonly certDir?: string;
  /** Name of the ValidatingWebhookConfiguration whose caBundle is kept. */
  readonly configuration: string;
  /** PEM of the authorities that vouch for API servers, where those show certificates; everybody may ask when left out. */
  readonly clientCa?: string | undefined;
  /** Told of every certificate that is shown. */
  readonly shown?: (pair: KeyPair) => void;
  readonly planProblems: PlanProblems;
  /** Asked once, before the first answer. */
  readonly isOpenShift: (signal: AbortSignal) => Promise<boolean>;
};

export type Webhook = {
  readonly port: number;
  /** It answers: the cluster is known and there is a certificate to show. */
  ready(): boolean;
  /** Goes on answering, so that nobody is refused while API servers move on to other replicas. */
  drain(): void;
  close(): Promise<void>;
};

/** What the API server calls us. */
const namesOf = ({ service, namespace, extraNames }: WebhookOptions): readonly string[] => [
  `${service}.${namespace}.svc`,
  `${service}.${namespace}.svc.cluster.local`,
  ...extraNames,
];

/** What stands behind the server, which listens before there is anything to answer with. */
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

  /** Denies until `open` has found out where it is. */
  decide(kind: WebhookKind, review: Review): Promise<AdmissionVerdict> {
    return this.#gate?.decide(kind, review) ?? Promise.resolve(denied('the validator is not initialized yet, please try again'));
  }

  /** Works until the signal is aborted. */
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

/** Listens at once, rejecting when the port cannot be had; answers as soon as it is `ready`. */
export const startWebhook = async (options: WebhookOptions): Promise<Webhook> => {
  const { port, log, defects, clientCa } = options;
  const over = new AbortController();
  const office = new WebhookRuntime(options, over.signal);
  const server = await serveWebhook({ port, log, defects, clientCa, decide: (kind, review) => office.decide(kind, review) });
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
};
