import type { JsonObject } from '@drydock/apimachinery';
import type { EmbeddedCluster } from '@drydock/kube-sim';
import {
  activeOf,
  type Call,
  controllersAct,
  type Eviction,
  isFinal,
  type Pod,
  type Request,
  say,
} from '../../eviction-requests/controllers.ts';
import type { Answer, RespondersPlan } from '../story/story.ts';
import type { SimClock } from './sim-clock.ts';

/**
 * EvictionRequests in simulated time: the two kinds, their controllers, and a responder that does
 * what the story says.
 */

const group = 'lifecycle.k8s.io';
export const mover = 'mover.example/m';

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

function definition(kind: string): JsonObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${kind.toLowerCase()}s.${group}`,
      annotations: { 'api-approved.kubernetes.io': 'https://kep.k8s.io/4563' },
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        kind,
        listKind: `${kind}List`,
        plural: `${kind.toLowerCase()}s`,
        singular: kind.toLowerCase(),
      },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: 'object', properties: { spec: anything, status: anything } },
          },
          subresources: { status: {} },
        },
      ],
    },
  };
}

export const lifecycleDefinitions: readonly JsonObject[] = [
  definition('EvictionRequest'),
  definition('Eviction'),
];

const everyMs = 1000;

/** Milliseconds from its turn until a responder has done, or given up, what it does. */
const takesMs: Readonly<Record<Answer, number>> = {
  moves: 20_000,
  handsOver: 5000,
  reports: Number.POSITIVE_INFINITY,
  silent: Number.POSITIVE_INFINITY,
};

function text(now: Temporal.Instant): string {
  return now.round({ smallestUnit: 'second', roundingMode: 'floor' }).toString();
}

/** What it says, or does, at this moment of its turn. */
function answered(eviction: Eviction, answer: Answer, now: Temporal.Instant): readonly Call[] {
  const said = eviction.status?.responders?.find(({ name }) => name === mover);
  if (answer === 'silent' || said?.startTime === undefined || said.completionTime !== undefined)
    return [];
  const since = now.epochMilliseconds - Date.parse(said.startTime);
  if (since < takesMs[answer]) {
    const heard = Date.parse(said.heartbeatTime ?? '') || 0;
    return now.epochMilliseconds - heard < 60_000
      ? []
      : [say(eviction, mover, { heartbeatTime: text(now), message: `since ${since / 1000} s` })];
  }
  const done = say(eviction, mover, {
    heartbeatTime: text(now),
    completionTime: text(now),
    message: 'done',
  });
  const { name, uid } = eviction.spec.target.pod;
  const path = `/api/v1/namespaces/${eviction.metadata.namespace}/pods/${name}`;
  return answer === 'moves'
    ? [{ method: 'DELETE', path, body: { preconditions: { uid } }, next: () => done }]
    : [done];
}

const answers: readonly Answer[] = ['moves', 'handsOver', 'reports', 'silent'];

/**
 * Plays them for as long as the story says; in the end people see to it that they work, and that
 * every responder comes to an end.
 */
export class Responders {
  readonly #plan: RespondersPlan;
  readonly #cluster: EmbeddedCluster;
  readonly #clock: SimClock;
  readonly #startMs: number;
  #isMended = false;

  constructor(plan: RespondersPlan, cluster: EmbeddedCluster, clock: SimClock, startMs: number) {
    this.#plan = plan;
    this.#cluster = cluster;
    this.#clock = clock;
    this.#startMs = startMs;
    clock.after(everyMs, () => this.#turn());
  }

  /** Nothing goes wrong with them any more. */
  mend(): void {
    this.#isMended = true;
  }

  get #isPlaying(): boolean {
    const { from, to } = this.#plan.away;
    const at = this.#clock.nowMs - this.#startMs;
    return this.#plan.hasControllers && (this.#isMended || at < from || at >= to);
  }

  #answerTo(eviction: Eviction): Answer {
    const drawn =
      answers[(eviction.spec.target.pod.uid.charCodeAt(0) + this.#plan.shift) % answers.length] ??
      'moves';
    return this.#isMended && drawn === 'reports' ? 'handsOver' : drawn;
  }

  #turn(): void {
    this.#clock.after(everyMs, () => this.#turn());
    if (this.#isPlaying) void this.#act();
  }

  async #act(): Promise<void> {
    const { store } = this.#cluster.registry;
    const list = <T>(resource: string): readonly T[] =>
      store.list(resource) as unknown as readonly T[];
    const evictions = list<Eviction>(`evictions.${group}`);
    const requests = list<Request>(`evictionrequests.${group}`);
    if (evictions.length + requests.length === 0) return;
    const now = this.#clock.now();
    const turns = evictions.filter(one => !isFinal(one) && activeOf(one) === mover);
    const calls = [
      ...controllersAct({ pods: list<Pod>('pods'), requests, evictions }, now),
      ...turns.flatMap(one => answered(one, this.#answerTo(one), now)),
    ];
    for (const call of calls) await this.#send(call);
  }

  async #send({ method, path, body, next }: Call): Promise<void> {
    const response = await this.#cluster.respond({
      method,
      path,
      query: new Map(),
      accept: 'application/json',
      contentType: method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      userAgent: 'eviction-controllers',
      body: { kind: 'json', value: body },
    });
    if (response.kind === 'watch' || next === undefined) return;
    await this.#send(next(response.status, ''));
  }
}
