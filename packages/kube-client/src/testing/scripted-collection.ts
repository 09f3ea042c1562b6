import type { ServerResponse } from 'node:http';
import { type FaultResponder, json, type SeenRequest } from './fault-server.ts';

/** An object as it goes over the wire. */
export function pod(name: string, version: number, uid = `uid-${name}`, note = ''): unknown {
  return {
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'ns',
      uid,
      resourceVersion: String(version),
      annotations: { note },
    },
  };
}

/** A list as it goes over the wire. */
export function podList(version: number, items: readonly unknown[], more?: string): unknown {
  return {
    kind: 'PodList',
    metadata: {
      resourceVersion: String(version),
      ...(more === undefined ? {} : { continue: more }),
    },
    items,
  };
}

/** One line of a watch. */
export function line(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`;
}

/** A Status as it goes over the wire. */
export function status(code: number, reason: string): unknown {
  return {
    kind: 'Status',
    status: 'Failure',
    code,
    reason,
    message: `${reason} by the test`,
  };
}

/** A bookmark as it goes over the wire. */
export function bookmark(version: number): string {
  return line('BOOKMARK', { kind: 'Pod', metadata: { resourceVersion: String(version) } });
}

/** Answers the n-th list or watch, counted from 0. */
export type Turn = (
  incoming: ServerResponse,
  request: SeenRequest,
  n: number,
) => void | Promise<void>;

/**
 * A collection whose lists and watches follow a script each; the last entry stands for all later
 * ones.
 */
export class ScriptedCollection {
  readonly lists: SeenRequest[] = [];
  readonly watches: SeenRequest[] = [];
  /** Watches that are open now. */
  readonly open = new Set<ServerResponse>();
  readonly #listTurns: readonly Turn[];
  readonly #watchTurns: readonly Turn[];

  constructor(listTurns: readonly Turn[], watchTurns: readonly Turn[]) {
    this.#listTurns = listTurns;
    this.#watchTurns = watchTurns;
  }

  readonly response: FaultResponder = async (request, incoming) => {
    const isWatch = request.query.has('watch');
    const [seen, turns] = isWatch
      ? [this.watches, this.#watchTurns]
      : [this.lists, this.#listTurns];
    seen.push(request);
    const n = seen.length - 1;
    if (isWatch) {
      this.open.add(incoming);
      incoming.once('close', () => this.open.delete(incoming));
    }
    await turns[Math.min(n, turns.length - 1)]?.(incoming, request, n);
  };
}

/** A turn that gives a whole list. */
export function lists(version: number, ...items: readonly unknown[]): Turn {
  return incoming => json(incoming, 200, podList(version, items));
}

/** A turn that answers with a Status. */
export function refuses(
  code: number,
  reason: string,
  headers: Readonly<Record<string, string>> = {},
): Turn {
  return incoming => json(incoming, code, status(code, reason), headers);
}

/** A turn that opens a watch, says these lines, and then does what comes after. */
export function says(
  lines: readonly string[],
  after: 'stays' | 'closes' | 'resets' = 'stays',
): Turn {
  return incoming => {
    incoming.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    for (const text of lines) incoming.write(text);
    if (after === 'closes') incoming.end();
    // A moment later, so that what was said arrives: a reset throws away what the other side has
    // not read.
    if (after === 'resets') setTimeout(() => incoming.socket?.resetAndDestroy(), 50);
  };
}
