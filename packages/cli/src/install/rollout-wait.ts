import { joinLimited } from '@drydock/apimachinery';
import type { CachedObject, Change, Collection, Connection } from '@drydock/kube-client';
import { identify } from '@drydock/kube-client';
import { leaderLease } from '@drydock/operator/discovery';
import { systemClock } from '@drydock/utils';
import { checkAll } from '../diagnose/checks.ts';
import { gatherFacts } from '../diagnose/facts.ts';
import { tryWebhook } from '../diagnose/webhook-trial.ts';
import { goDuration } from '../shared/fail.ts';
import { plainOutput } from '../shared/output.ts';
import { version } from '../shared/version.ts';
import type { AccessQuestion } from './access.ts';
import {
  hasGivenUp,
  type RolledDeployment,
  type RolledPod,
  rolloutLacks,
  rolloutText,
} from './rollout.ts';

/**
 * `drydock install --apply --wait`: watches until the operator serves, or prints why it does not.
 */

type RolloutOptions = {
  readonly namespace: string;
  readonly hasWebhook: boolean;
  readonly timeoutSeconds: number;
};

/**
 * Milliseconds between trials of the webhook without an event: an API server picks up a changed
 * configuration some time later.
 */
const againMs = 1000;

const deployment = 'drydock';

type RolloutObject = CachedObject & { readonly raw: unknown };

function rolloutObject(raw: unknown): RolloutObject | undefined {
  const found = identify(raw);
  return found && { key: found.name, uid: found.uid, resourceVersion: found.resourceVersion, raw };
}

type RolloutSource = {
  readonly collection: Collection;
  readonly seen: (change: Change<RolloutObject>) => void;
};

/** A missing step of the rollout. */
type PendingRollout = {
  readonly text: string;
  /** Whether waiting longer is useless. */
  readonly isFinal: boolean;
  /** Whether the webhook was tried, so that another trial follows even without an event. */
  readonly isTried: boolean;
};

/** Returns the rights for watching a rollout. */
export function accessToWait(namespace: string): readonly AccessQuestion[] {
  return [
    { group: 'apps', resource: 'deployments', namespace },
    { group: '', resource: 'pods', namespace },
    { group: 'coordination.k8s.io', resource: 'leases', namespace },
    { group: 'discovery.k8s.io', resource: 'endpointslices', namespace },
    { group: 'admissionregistration.k8s.io', resource: 'validatingwebhookconfigurations' },
  ].flatMap(one => ['list', 'watch'].map(verb => ({ ...one, verb })));
}

class RolloutWait {
  readonly #connection: Connection;
  readonly #wait: RolloutOptions;
  readonly #stop = new AbortController();
  readonly #pods = new Map<string, RolledPod>();
  #deployment: RolledDeployment | undefined;
  #isLed = false;
  /** Ends the current pause. */
  #wake: () => void = () => {};
  #failure: Error | undefined;
  #lastText = '';

  constructor(connection: Connection, wait: RolloutOptions) {
    this.#connection = connection;
    this.#wait = wait;
  }

  /**
   * Resolves when all replicas serve; throws, with the reason, when they do not in time, or when
   * the Deployment has exceeded its progress deadline.
   */
  async run(): Promise<void> {
    const { timeoutSeconds } = this.#wait;
    const end = systemClock.now().add({ milliseconds: Math.round(timeoutSeconds * 1000) });
    const over = systemClock.sleep(timeoutSeconds * 1000, this.#stop.signal);
    try {
      await Promise.race([Promise.all(this.#collections().map(one => this.#watch(one))), over]);
      for (;;) {
        const event = this.#nextEvent();
        const yet = await this.#lacks();
        if (yet === undefined) return;
        const isOver = Temporal.Instant.compare(systemClock.now(), end) >= 0;
        if (isOver || yet.isFinal) {
          const start = yet.isFinal
            ? 'the Deployment has given up'
            : `after ${goDuration(timeoutSeconds)}`;
          throw new Error(
            `${start}: ${yet.text}. What is applied stays; drydock check looks at all of it`,
          );
        }
        if (yet.text !== this.#lastText) plainOutput.note(`waiting: ${yet.text}`);
        this.#lastText = yet.text;
        await Promise.race([
          event,
          over,
          ...(yet.isTried ? [systemClock.sleep(againMs, this.#stop.signal)] : []),
        ]);
      }
    } finally {
      this.#stop.abort();
    }
  }

  #collections(): readonly RolloutSource[] {
    const { namespace } = this.#wait;
    const one = (path: string, name: string): Collection => ({
      path,
      fieldSelector: `metadata.name=${name}`,
    });
    const nothing = (): void => {};
    return [
      {
        collection: one(`/apis/apps/v1/namespaces/${namespace}/deployments`, deployment),
        seen: ({ type, object }) =>
          (this.#deployment = type === 'removed' ? undefined : (object.raw as RolledDeployment)),
      },
      {
        collection: {
          path: `/api/v1/namespaces/${namespace}/pods`,
          labelSelector: 'app.kubernetes.io/name=drydock',
        },
        seen: ({ type, object }) => {
          if (type === 'removed') this.#pods.delete(object.uid);
          else this.#pods.set(object.uid, object.raw as RolledPod);
        },
      },
      {
        collection: one(`/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`, leaderLease),
        seen: ({ type, object }) => {
          const { spec = {} } = object.raw as {
            readonly spec?: { readonly holderIdentity?: string };
          };
          this.#isLed = type !== 'removed' && (spec.holderIdentity ?? '') !== '';
        },
      },
      // Changes of these only trigger a check: the webhook may respond by now.
      {
        collection: one(
          '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
          'drydock',
        ),
        seen: nothing,
      },
      {
        collection: {
          path: `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
          labelSelector: 'kubernetes.io/service-name=drydock-webhook',
        },
        seen: nothing,
      },
    ];
  }

  /** Resolves when the first list has arrived. */
  #watch({ collection, seen }: RolloutSource): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const handler = {
      changed: (change: Change<RolloutObject>): void => {
        seen(change);
        this.#wake();
      },
      synced: resolve,
      failing: ({
        message,
        status,
      }: {
        readonly message: string;
        readonly status?: number;
      }): void => {
        if (status === 403)
          this.#failure = new Error(`--wait has to watch what it waits for: ${message}`);
        resolve();
        this.#wake();
      },
    };
    // A watch ends only by the signal; errors of its handler are reported by the watch.
    void this.#connection.watch(collection, rolloutObject, handler, this.#stop.signal);
    return promise;
  }

  /**
   * Returns the next missing step, or undefined when the rollout is complete. Throws when the state
   * cannot be read.
   */
  async #lacks(): Promise<PendingRollout | undefined> {
    if (this.#failure !== undefined) throw this.#failure;
    const state = { deployment: this.#deployment, pods: [...this.#pods.values()] };
    const lacks = rolloutLacks(state);
    if (lacks !== undefined)
      return {
        text: `Deployment ${deployment}: ${rolloutText(state, lacks)}`,
        isFinal: hasGivenUp(state),
        isTried: false,
      };
    if (!this.#isLed) return { text: 'no replica leads yet', isFinal: false, isTried: false };
    return this.#wait.hasWebhook ? this.#webhookLacks() : undefined;
  }

  /**
   * Returns the webhook's missing step; a webhook that cannot be tried is left to `drydock check`.
   */
  async #webhookLacks(): Promise<PendingRollout | undefined> {
    const trial = await tryWebhook(this.#connection);
    if (trial.kind === 'refused' || trial.kind === 'untried') return undefined;
    const why = trial.kind === 'passed' ? 'the API server does not call it yet' : trial.why;
    return { text: `the webhook does not answer yet: ${why}`, isFinal: false, isTried: true };
  }

  #nextEvent(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    return promise;
  }
}

/**
 * Waits until the operator is rolled out, leads, and its webhook responds; then prints the findings
 * of `drydock check` in a line. Throws when the rollout fails, or when a check has an Error.
 */
export async function waitForRollout(connection: Connection, wait: RolloutOptions): Promise<void> {
  await new RolloutWait(connection, wait).run();
  plainOutput.line(`deployment "${deployment}" successfully rolled out`);
  const findings = checkAll(await gatherFacts(connection, systemClock, version())).flatMap(
    ({ findings: found }) => found,
  );
  const errors = findings
    .filter(({ severity }) => severity === 'Error')
    .map(({ message }) => message);
  if (errors.length > 0)
    throw new Error(
      `it runs, but something is wrong: ${joinLimited(errors)}; drydock check says what to do`,
    );
  const warnings = findings.map(({ message }) => message);
  plainOutput.line(
    warnings.length === 0
      ? `check: nothing is wrong${wait.hasWebhook ? ', and the webhook answers' : ''}`
      : `check: ${joinLimited(warnings)}; drydock check says what to do`,
  );
  plainOutput.line('next: drydock maintain NODE --reason WHY --wait');
}
