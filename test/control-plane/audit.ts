import { createReadStream, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * One request as the API server saw it. Times are milliseconds since 1970, with the microseconds
 * behind the point.
 */
export type Audited = {
  readonly id: string;
  readonly user: string;
  readonly agent: string;
  readonly verb: string;
  readonly path: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly code: number;
  /**
   * No role allows it. A webhook or another admission plugin that says no is something else, with
   * the same code.
   */
  readonly forbidden: boolean;
  /** A role allows it, whatever came of it then. */
  readonly authorized: boolean;
  readonly receivedAt: number;
  readonly answeredAt: number;
};

/** Who asked how much. */
export type Tally = {
  readonly requests: number;
  readonly evictions: {
    readonly total: number;
    readonly accepted: number;
    /** 429: a budget (or a throttle) said not now. */
    readonly refused: number;
    readonly other: Readonly<Record<string, number>>;
  };
};

/** The audit log of a control plane. */
export interface Audit {
  /** A place in the log: what is asked from now on comes after it. */
  mark(): number;
  /** All requests after the mark, oldest first; of one user, or of everybody but the components. */
  since(mark: number, user?: string): Promise<readonly Audited[]>;
}

/** What the API server writes, as far as it is read here. */
type Line = {
  readonly auditID: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly userAgent?: string;
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly annotations?: Readonly<Record<string, string>>;
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
};

/**
 * The policy: who asked what and what came of it, one line a request (two a watch); the components
 * of the control plane are left out.
 */
export function auditPolicy(leftOut: readonly string[]): unknown {
  return {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [
      { level: 'None', users: leftOut },
      { level: 'None', users: ['system:apiserver', 'system:anonymous'] },
      { level: 'Metadata' },
    ],
  };
}

function milliseconds(timestamp: string): number {
  const micros = /\.(\d{3})(\d+)Z$/.exec(timestamp)?.[2] ?? '';
  return Date.parse(timestamp) + Number(`0.${micros === '' ? '0' : micros}`);
}

function audited(line: Line, known: Known): Audited {
  return {
    id: line.auditID,
    user: known.get(line.user.username) ?? line.user.username,
    agent: line.userAgent ?? '',
    verb: line.verb,
    path: line.requestURI,
    resource: line.objectRef?.resource ?? '',
    subresource: line.objectRef?.subresource ?? '',
    namespace: line.objectRef?.namespace ?? '',
    name: line.objectRef?.name ?? '',
    code: line.responseStatus?.code ?? 0,
    forbidden: line.annotations?.['authorization.k8s.io/decision'] === 'forbid',
    authorized: line.annotations?.['authorization.k8s.io/decision'] === 'allow',
    receivedAt: milliseconds(line.requestReceivedTimestamp),
    answeredAt: milliseconds(line.stageTimestamp),
  };
}

/**
 * Whole lines that began at the mark or later. The server writes a long line in pieces: a mark may
 * be in the middle of one, which is older.
 */
const linesSince = async function* (file: string, mark: number): AsyncGenerator<string> {
  let isOlder = mark > 0;
  let rest = '';
  for await (const piece of createReadStream(file, {
    start: Math.max(0, mark - 1),
    encoding: 'utf8',
  })) {
    const lines = `${rest}${String(piece)}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (!isOlder) yield line;
      isOlder = false;
    }
  }
};

/** By the name that the API server knows a user by, the one that tests do, where they differ. */
type Known = ReadonlyMap<string, string>;

/** Reads the log that the API server appends to. */
export function auditIn(file: string, known: Known = new Map()): Audit {
  return {
    mark: () => statSync(file).size,
    since: async (mark, user) => {
      // The line of a request is written after its answer: the last ones may still be on their way.
      await sleep(300);
      // A watch has two lines, its start and its end.
      const once = new Map<string, Audited>();
      for await (const line of linesSince(file, mark)) {
        const event = audited(JSON.parse(line) as Line, known);
        if (user === undefined || event.user === user) once.set(event.id, event);
      }
      return [...once.values()].sort((a, b) => a.receivedAt - b.receivedAt);
    },
  };
}

function isEviction(event: Audited): boolean {
  return event.subresource === 'eviction' && event.verb === 'create';
}

/** Counts the requests, and the evictions among them by what came of them. */
export function tally(events: readonly Audited[]): Tally {
  const evictions = events.filter(isEviction);
  const other: Record<string, number> = {};
  for (const { code } of evictions)
    if (code > 299 && code !== 429) other[code] = (other[code] ?? 0) + 1;
  return {
    requests: events.length,
    evictions: {
      total: evictions.length,
      accepted: evictions.filter(({ code }) => code < 300).length,
      refused: evictions.filter(({ code }) => code === 429).length,
      other,
    },
  };
}

/**
 * For each node, when the first eviction of one of its pods arrived. `nodeOf` knows where
 * `NAMESPACE/NAME` was.
 */
export function firstEvictions(
  events: readonly Audited[],
  nodeOf: (pod: string) => string | undefined,
): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  for (const event of events.filter(isEviction)) {
    const node = nodeOf(`${event.namespace}/${event.name}`);
    if (node !== undefined && !first.has(node)) first.set(node, event.receivedAt);
  }
  return first;
}
