import type { KubeEvent } from '@drydock/apimachinery';
import type { Api, ApiCall, ApiResponse, Recorder } from '@drydock/kube-client';
import type { Log, LogFields } from '@drydock/utils';
import type { Meter } from '../ports.ts';

/** Stand-ins for the ports: they remember what they were told. */

export function response(
  status: number,
  body: unknown = {},
  headers: ApiResponse['headers'] = {},
): ApiResponse {
  return {
    status,
    headers,
    body,
  };
}

/** A Status as the API server answers with it. */
export function failure(status: number, message: string, cause?: string): ApiResponse {
  return response(status, {
    kind: 'Status',
    code: status,
    message,
    ...(cause && { details: { causes: [{ reason: cause, message }] } }),
  });
}

/** An API that answers as it is told, and remembers every call. */
export class ScriptedApi implements Api {
  readonly calls: ApiCall[] = [];
  reply: (call: ApiCall) => ApiResponse | Promise<ApiResponse>;

  constructor(reply: (call: ApiCall) => ApiResponse | Promise<ApiResponse> = () => response(200)) {
    this.reply = reply;
  }

  async call(call: ApiCall): Promise<ApiResponse> {
    this.calls.push(call);
    return this.reply(call);
  }

  /** `METHOD path` of each call, in order. */
  get asked(): readonly string[] {
    return this.calls.map(({ method, path }) => `${method} ${path}`);
  }
}

/** An API whose answers the test gives one by one. */
export class SlowApi implements Api {
  readonly waiting: {
    readonly call: ApiCall;
    readonly response: (response: ApiResponse) => void;
    readonly fail: (error: Error) => void;
  }[] = [];

  call(call: ApiCall): Promise<ApiResponse> {
    return new Promise((resolve, reject) =>
      this.waiting.push({ call, response: resolve, fail: reject }),
    );
  }

  /** The call that has waited longest. */
  next(): SlowApi['waiting'][number] {
    const first = this.waiting.shift();
    if (first === undefined) throw new Error('nobody waits for a response');
    return first;
  }
}

export class FakeRecorder implements Recorder {
  readonly notes: KubeEvent[] = [];

  record(note: KubeEvent): void {
    this.notes.push(note);
  }

  get reasons(): readonly string[] {
    return this.notes.map(({ reason }) => reason);
  }
}

export class FakeMeter implements Meter {
  readonly evictions: string[] = [];
  readonly seconds: number[] = [];
  readonly writes: string[] = [];
  decisions = 0;

  evicted(method: 'evict' | 'delete', outcome: string, seconds: number): void {
    this.evictions.push(`${method} ${outcome}`);
    this.seconds.push(seconds);
  }

  wrote(store: string, result: 'stored' | 'conflict' | 'refused'): void {
    this.writes.push(`${store} ${result}`);
  }

  readonly decisionSeconds: number[] = [];

  decided(seconds: number): void {
    this.decisions += 1;
    this.decisionSeconds.push(seconds);
  }

  readonly panics: string[] = [];

  panicked(controller: string): void {
    this.panics.push(controller);
  }
}

export class FakeLog implements Log {
  readonly lines: {
    readonly level: string;
    readonly message: string;
    readonly fields: LogFields;
  }[] = [];

  debug = this.#at('debug');
  info = this.#at('info');
  warn = this.#at('warn');
  error = this.#at('error');

  of(level: string): readonly string[] {
    return this.lines.filter(one => one.level === level).map(({ message }) => message);
  }

  #at(level: string): (message: string, fields?: LogFields) => void {
    return (message, fields = {}) => void this.lines.push({ level, message, fields });
  }
}

/** Lets everything run that waits for nothing but its turn. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(resolve => setImmediate(resolve));
}
