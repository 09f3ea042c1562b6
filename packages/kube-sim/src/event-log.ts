import type { JsonObject } from '@drydock/apimachinery';
import { microTimeText, timeText } from '@drydock/apimachinery';
import type { Clock } from '@drydock/utils';
import type { Note, Writes } from './controllers/controller.ts';
import { apiVersionOf } from './kinds/kind.ts';
import type { Stored } from './object.ts';
import type { RegistryContext } from './registry/metadata.ts';
import type { Store } from './store/store.ts';

/**
 * Stores controllers' notes as Event objects, as client-go's recorders do:
 * k8s.io/client-go/tools/record/events_cache.go.
 */

/** Lifetime of events (--event-ttl). */
const ttlMs = 60 * 60_000;

/**
 * Limit of different messages for one reason within ten minutes; beyond it, they share one event
 * (EventAggregator).
 */
const maxSimilar = 10;
const similarMs = 600_000;

/**
 * Limit of events about one object from one source: a burst, then one in five minutes
 * (EventSourceObjectSpamFilter).
 */
const burst = 25;
const refillMs = 300_000;

/** Limit of remembered objects and events (maxLruCacheEntries). */
const maxRemembered = 4096;

type Similar = { readonly messages: Set<string>; readonly lastMs: number };
type Tokens = { readonly left: number; readonly atMs: number };

/** Appends the latest entry, and drops the oldest when there are too many. */
function remember<T>(map: Map<string, T>, key: string, value: T): T {
  map.delete(key);
  map.set(key, value);
  if (map.size > maxRemembered) map.delete(map.keys().next().value ?? '');
  return value;
}

/**
 * Stores the events of a cluster: counts repetitions, aggregates similar ones, deletes old ones.
 */
export class EventLog {
  readonly #registry: RegistryContext;
  readonly #writes: Writes;
  readonly #clock: Clock;
  /** Names of events by their content. */
  readonly #known = new Map<string, { readonly namespace: string; readonly name: string }>();
  readonly #similar = new Map<string, Similar>();
  readonly #tokens = new Map<string, Tokens>();
  /** Time of each event's last write, the oldest first. */
  readonly #written = new Map<string, number>();
  #made = 0;
  #sweep: (() => void) | undefined;

  constructor(registry: RegistryContext, writes: Writes, clock: Clock) {
    this.#registry = registry;
    this.#writes = writes;
    this.#clock = clock;
  }

  /** Writes an event, or raises the count of an equal one. */
  record(note: Note): void {
    const about = note.about.object.metadata.uid;
    const newer = note.action !== undefined;
    if (!newer && !this.#mayWrite(`${note.by} ${about}`)) return;
    const version = newer ? note.about.object.metadata.resourceVersion : '';
    const similar = [note.by, about, note.type, note.reason, version].join(' ');
    const isSummary = !newer && this.#isTooSimilar(similar, note.message);
    const message = isSummary ? `(combined from similar events): ${note.message}` : note.message;
    const key = newer || isSummary ? similar : `${similar} ${message}`;
    const known = this.#known.get(key);
    const before = known && this.#store.get('events', known.namespace, known.name);
    const event =
      before === undefined
        ? this.#make({ ...note, message })
        : this.#repeat(before, { ...note, message });
    if (event === undefined) return;
    const { namespace = '', name } = event.metadata;
    remember(this.#known, key, { namespace, name });
    this.#keep(`${namespace}/${name}`);
  }

  stop(): void {
    this.#sweep?.();
  }

  get #store(): Store {
    return this.#registry.store;
  }

  get #nowMs(): number {
    return this.#clock.now().epochMilliseconds;
  }

  #mayWrite(key: string): boolean {
    const now = this.#nowMs;
    const before = this.#tokens.get(key) ?? { left: burst, atMs: now };
    const left = Math.min(burst, before.left + (now - before.atMs) / refillMs);
    remember(this.#tokens, key, { left: Math.max(0, left - 1), atMs: now });
    return left >= 1;
  }

  #isTooSimilar(key: string, message: string): boolean {
    const before = this.#similar.get(key);
    const now = this.#nowMs;
    const messages =
      before === undefined || now - before.lastMs > similarMs ? new Set<string>() : before.messages;
    if (messages.size < maxSimilar) messages.add(message);
    remember(this.#similar, key, { messages, lastMs: now });
    return messages.size >= maxSimilar;
  }

  #make(note: Note): Stored | undefined {
    const { resource, object } = note.about;
    const kind = this.#registry.kinds.of(resource);
    const { namespace, name, uid, resourceVersion } = object.metadata;
    this.#made += 1;
    const unique = (BigInt(this.#nowMs) * 1_000_000n + BigInt(this.#made % 1_000_000)).toString(16);
    const written = this.#writes.create('events', {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${name}.${unique}`, namespace: namespace ?? 'default' },
      involvedObject: {
        apiVersion: apiVersionOf(kind),
        kind: kind.kind,
        ...(namespace && { namespace }),
        name,
        uid,
        resourceVersion,
      },
      reason: note.reason,
      message: note.message,
      type: note.type,
      ...this.#times(note),
    });
    return written.kind === 'stored' ? written.object : undefined;
  }

  #times({ by, action }: Note): JsonObject {
    const now = this.#clock.now();
    if (action === undefined) {
      const [firstTimestamp, lastTimestamp] = [timeText(now), timeText(now)];
      return {
        source: { component: by },
        firstTimestamp,
        lastTimestamp,
        count: 1,
        eventTime: null,
        reportingComponent: by,
        reportingInstance: '',
      };
    }
    const ends = { source: {}, firstTimestamp: null, lastTimestamp: null };
    return {
      ...ends,
      eventTime: microTimeText(now),
      action,
      reportingComponent: by,
      reportingInstance: by,
    };
  }

  #repeat(before: Stored, { action, message }: Note): Stored | undefined {
    const now = this.#clock.now();
    const count = Number(before['count'] ?? 1) + 1;
    const series = {
      count: Number((before['series'] as JsonObject | undefined)?.['count'] ?? 1) + 1,
      lastObservedTime: microTimeText(now),
    };
    const change: JsonObject =
      action === undefined ? { count, message, lastTimestamp: timeText(now) } : { series };
    const written = this.#writes.update('events', { ...before, ...change });
    return written.kind === 'stored' ? written.object : undefined;
  }

  #keep(key: string): void {
    this.#written.delete(key);
    this.#written.set(key, this.#nowMs);
    this.#sweep ??= this.#clock.after(ttlMs, () => this.#forget());
  }

  #forget(): void {
    this.#sweep = undefined;
    for (const [key, atMs] of this.#written) {
      const left = atMs + ttlMs - this.#nowMs;
      if (left > 0) {
        this.#sweep = this.#clock.after(left, () => this.#forget());
        return;
      }
      this.#written.delete(key);
      const cut = key.indexOf('/');
      this.#writes.remove('events', key.slice(0, cut), key.slice(cut + 1));
    }
  }
}
