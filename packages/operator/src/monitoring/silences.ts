import { isObject, type Json, type JsonObject, pathSegment, readTime } from '@drydock/apimachinery';
import type { Clock, Log } from '@drydock/utils';
import { failureOf, jsonOf, malformedResponse, type Source, type SourceResult } from './source.ts';
import type { SilenceConfig } from './sources-file.ts';

/**
 * Silences of Alertmanager for held nodes (api/v2/openapi.yaml of
 * github.com/prometheus/alertmanager). Each expires soon, and is renewed as long as its node is
 * held; so none outlives an operator that is gone. Silences of an earlier process are recognized by
 * their comment.
 */

type Silence = {
  readonly id: string;
  readonly node: string;
  readonly startsAt: string;
  readonly endsAt: Temporal.Instant;
};

const creator = 'drydock';

/** Limit of silences. */
const maxSilences = 1000;

function commentOf(node: string, cluster: string): string {
  return `Node ${node} is out of service for a maintenance of Drydock (cluster ${cluster})`;
}

function nodeIn(comment: Json | undefined, cluster: string): string | undefined {
  const [, node, of] =
    /^Node (\S{1,253}) is out of service for a maintenance of Drydock \(cluster (\S+)\)$/.exec(
      typeof comment === 'string' ? comment : '',
    ) ?? [];
  return of === cluster ? node : undefined;
}

/** Returns this cluster's silences that are active or pending. */
function ownIn(body: readonly Json[], cluster: string): readonly Silence[] {
  return body.filter(isObject).flatMap(one => {
    const node = nodeIn(one['comment'], cluster);
    const endsAt = readTime(one['endsAt']);
    const state = isObject(one['status']) ? one['status']['state'] : undefined;
    const { id, startsAt } = one;
    if (
      one['createdBy'] !== creator ||
      node === undefined ||
      endsAt === undefined ||
      state === 'expired'
    )
      return [];
    return typeof id === 'string' && typeof startsAt === 'string'
      ? [{ id, node, startsAt, endsAt }]
      : [];
  });
}

function escapeRegex(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9-]/g, '\\$&');
}

function matchersFor(node: string, { matchers }: SilenceConfig): readonly JsonObject[] {
  return matchers.map(({ name, value, isRegex, isEqual }) => ({
    name,
    value: value.replaceAll('{{node}}', () => (isRegex ? escapeRegex(node) : node)),
    isRegex,
    isEqual,
  }));
}

export class NodeSilences {
  readonly #source: Source;
  readonly #config: SilenceConfig;
  readonly #clock: Clock;
  readonly #log: Log;
  /** Last known active silences of this process, by node. */
  readonly #known = new Map<string, Silence>();
  /** Nodes whose silence a user has ended: they get no other as long as they are held. */
  readonly #ended = new Set<string>();
  #isWell = true;

  constructor(
    source: Source,
    config: SilenceConfig,
    { clock, log }: { readonly clock: Clock; readonly log: Log },
  ) {
    this.#source = source;
    this.#config = config;
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Creates, renews and expires silences, so that each of these nodes has one, and no other node of
   * this cluster. Returns milliseconds until the next call. Failures are logged, and retried then.
   * Rejects with the signal's reason only.
   */
  async keep(nodes: ReadonlySet<string>, signal: AbortSignal): Promise<number> {
    const failure = await this.#keep(nodes, signal);
    if (failure !== undefined && this.#isWell)
      this.#log.warn('failed to update the silences for held nodes; retrying', {
        source: this.#source.title,
        failure,
      });
    if (failure === undefined && !this.#isWell)
      this.#log.info('silences for held nodes are updated again', { source: this.#source.title });
    this.#isWell = failure === undefined;
    return Math.min(this.#config.leaseMs / 4, 60_000);
  }

  /** Updates the silences; returns the first failure, if any. */
  async #keep(nodes: ReadonlySet<string>, signal: AbortSignal): Promise<string | undefined> {
    const listed = await this.#list(signal);
    if ('failure' in listed) return listed.failure.problem;
    this.#notice(listed.value, nodes);
    const failures: string[] = [];
    const note = (outcome: SourceResult<unknown>): void =>
      void ('failure' in outcome && failures.push(outcome.failure.problem));
    const kept = new Set<string>();
    for (const silence of listed.value) {
      // A single silence for each node is sufficient.
      if (!nodes.has(silence.node) || kept.has(silence.node))
        note(await this.#end(silence, signal));
      else if (this.#isShort(silence)) note(await this.#post(silence.node, silence, signal));
      if (nodes.has(silence.node)) kept.add(silence.node);
    }
    const lacking = [...nodes].filter(node => !kept.has(node) && !this.#ended.has(node));
    for (const node of lacking.slice(0, Math.max(0, maxSilences - kept.size)))
      note(await this.#post(node, undefined, signal));
    return failures[0];
  }

  /**
   * Records silences that should be active and are missing: a user has ended them, for a reason.
   */
  #notice(own: readonly Silence[], nodes: ReadonlySet<string>): void {
    const now = this.#clock.now();
    const there = new Map(own.map(silence => [silence.node, silence]));
    for (const [node, { endsAt }] of this.#known) {
      if (there.has(node) || !nodes.has(node) || Temporal.Instant.compare(endsAt, now) <= 0)
        continue;
      this.#ended.add(node);
      this.#log.info('a user has ended the silence of a held node; not creating another', {
        source: this.#source.title,
        node,
      });
    }
    for (const node of this.#ended) if (!nodes.has(node)) this.#ended.delete(node);
    this.#known.clear();
    for (const [node, silence] of there) this.#known.set(node, silence);
  }

  #isShort({ endsAt }: Silence): boolean {
    return (
      endsAt.epochMilliseconds - this.#clock.now().epochMilliseconds < this.#config.leaseMs / 2
    );
  }

  async #list(signal: AbortSignal): Promise<SourceResult<readonly Silence[]>> {
    const outcome = await this.#source.call(
      { method: 'GET', path: '/api/v2/silences', headers: {} },
      signal,
    );
    if ('failure' in outcome) return outcome;
    if (outcome.value.status !== 200)
      return { failure: failureOf(this.#source.title, outcome.value) };
    const body = jsonOf(outcome.value.text);
    if (!Array.isArray(body))
      return malformedResponse(`${this.#source.title} does not respond like an Alertmanager`);
    return { value: ownIn(body as readonly Json[], this.#config.cluster) };
  }

  /**
   * Creates a silence, or extends one: Alertmanager keeps its id if matchers and start are
   * unchanged, and else replaces it.
   */
  async #post(
    node: string,
    before: Silence | undefined,
    signal: AbortSignal,
  ): Promise<SourceResult<true>> {
    const now = this.#clock.now();
    const endsAt = now.add({ milliseconds: this.#config.leaseMs });
    const startsAt = before?.startsAt ?? now.toString();
    const silence = {
      ...(before && { id: before.id }),
      matchers: matchersFor(node, this.#config),
      startsAt,
      endsAt: endsAt.toString(),
      createdBy: creator,
      comment: commentOf(node, this.#config.cluster),
    };
    const call = {
      method: 'POST',
      path: '/api/v2/silences',
      headers: { 'content-type': 'application/json' },
    } as const;
    const outcome = await this.#source.call({ ...call, body: JSON.stringify(silence) }, signal);
    if ('failure' in outcome) return outcome;
    if (outcome.value.status !== 200)
      return { failure: failureOf(this.#source.title, outcome.value) };
    const reply = jsonOf(outcome.value.text);
    const made = isObject(reply) ? reply['silenceID'] : undefined;
    if (typeof made === 'string') this.#known.set(node, { id: made, node, startsAt, endsAt });
    return { value: true };
  }

  async #end({ id, node }: Silence, signal: AbortSignal): Promise<SourceResult<true>> {
    const outcome = await this.#source.call(
      { method: 'DELETE', path: `/api/v2/silence/${pathSegment(id)}`, headers: {} },
      signal,
    );
    if ('failure' in outcome) return outcome;
    // The silence may have expired meanwhile.
    if (outcome.value.status !== 200 && outcome.value.status !== 404)
      return { failure: failureOf(this.#source.title, outcome.value) };
    this.#known.delete(node);
    return { value: true };
  }
}
