import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../control-plane/folder.ts';
import { type Running, start } from '../../control-plane/processes/process.ts';
import { waitFor } from '../../control-plane/wait.ts';
import { ensurePython, type LeftOut } from '../builds.ts';
import { type Element, elementsAt, parseXml, textAt } from './xml.ts';

export type Instance = {
  readonly id: string;
  readonly state: 'pending' | 'running' | 'shutting-down' | 'terminated' | 'stopping' | 'stopped';
  readonly zone: string;
  readonly dns: string;
  readonly ip: string;
  readonly tags: Readonly<Record<string, string>>;
  /**
   * How often it has booted: 1 for a new one. EC2 does not tell; kubelets of tests have to know.
   */
  readonly boots: number;
};

/** What AWS announces. */
type Announcement = {
  readonly code:
    | 'instance-reboot'
    | 'system-reboot'
    | 'system-maintenance'
    | 'instance-retirement'
    | 'instance-stop';
  readonly notBefore: Date;
  readonly notAfter?: Date;
  readonly notBeforeDeadline?: Date;
  readonly description?: string;
};

type Fault = {
  /** `*`: any. */
  readonly action: string;
  readonly code: string;
  readonly message?: string;
  /** Of HTTP. */
  readonly status?: number;
  /** How many calls fail; one unless told otherwise. */
  readonly times?: number;
  readonly retryAfterSeconds?: number;
  /**
   * Whose calls: those of what is tested (the default), or those of the harness, which makes and
   * ends the instances of machines.
   */
  readonly of?: 'tested' | 'harness';
};

/** One call of the API, as it arrived. */
type Call = {
  readonly action: string;
  readonly params: Readonly<Record<string, string>>;
  /** The caller's User-Agent. */
  readonly agent: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The code of the injected fault that it got in the place of an answer. */
  readonly fault: string | null;
};

/** What EC2 says: an answer, or an error with its code. */
type Ec2Answer =
  | { readonly kind: 'answer'; readonly root: Element }
  | {
      readonly kind: 'error';
      readonly status: number;
      readonly code: string;
      readonly message: string;
    };

export interface Ec2Emulator {
  readonly kind: 'started';
  /** For `AWS_ENDPOINT_URL`. Signatures and credentials are not looked at. */
  readonly endpoint: string;
  readonly region: string;
  /** One call of the query API, as it is: nothing is retried. */
  call(action: string, params?: Readonly<Record<string, string>>): Promise<Ec2Answer>;
  /** New instances with these tags, each running at once. */
  runInstances(
    count: number,
    tags?: Readonly<Record<string, string>>,
    zone?: string,
  ): Promise<readonly string[]>;
  /** All that are known, terminated ones too. */
  instances(): Promise<readonly Instance[]>;
  terminate(...ids: readonly string[]): Promise<void>;
  stopInstances(...ids: readonly string[]): Promise<void>;
  startInstances(...ids: readonly string[]): Promise<void>;
  reboot(...ids: readonly string[]): Promise<void>;
  /** EC2 forgets a terminated instance after about an hour: from then on its id is an error. */
  forget(...ids: readonly string[]): Promise<void>;
  /** Announces a scheduled event; its id. */
  announce(instance: string, announcement: Announcement): Promise<string>;
  /**
   * The event stays, and its description begins with `[Completed] `, as EC2 shows it for up to a
   * week.
   */
  completeEvent(event: string): Promise<void>;
  /** The same with `[Canceled] `. */
  cancelEvent(event: string): Promise<void>;
  /** The event is no longer shown. */
  withdrawEvent(event: string): Promise<void>;
  /**
   * How many calls of each action there were, without those that got a fault and those of the
   * harness itself.
   */
  calls(): Promise<Readonly<Record<string, number>>>;
  /** Every call, faults too, without those of the harness itself. */
  log(): Promise<readonly Call[]>;
  clearCalls(): Promise<void>;
  /** The next calls of an action fail. */
  fault(fault: Fault): Promise<void>;
  /** From now on nothing fails any more. */
  clearFaults(): Promise<void>;
  /** From now on every call of an action takes this much longer. */
  delay(action: string, seconds: number): Promise<void>;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const region = 'us-east-1';
/** Callers with this name are not counted. */
const harnessAgent = 'drydock-harness';
const authorization = `AWS4-HMAC-SHA256 Credential=x/20300101/${region}/ec2/aws4_request, SignedHeaders=host, Signature=0`;

/** `InstanceId.1=…&InstanceId.2=…`, as the query API has lists. */
export function listed(name: string, values: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(values.map((value, i) => [`${name}.${i + 1}`, value]));
}

async function call(
  endpoint: string,
  agent: string,
  action: string,
  params: Readonly<Record<string, string>>,
): Promise<Ec2Answer> {
  const reply = await fetch(`${endpoint}/`, {
    method: 'POST',
    headers: { authorization, 'user-agent': agent },
    body: new URLSearchParams({ Action: action, Version: '2016-11-15', ...params }),
  });
  const root = parseXml(await reply.text());
  if (reply.ok) return { kind: 'answer', root };
  const [code, message] = ['Code', 'Message'].map(
    name => textAt(root, `Errors/Error/${name}`) ?? '',
  );
  return { kind: 'error', status: reply.status, code: code ?? '', message: message ?? '' };
}

const descriptions: Readonly<Record<Announcement['code'], string>> = {
  'instance-reboot': 'The instance is scheduled for a reboot',
  'system-reboot': 'The instance is scheduled for a reboot',
  'system-maintenance': 'The instance is scheduled for system maintenance',
  'instance-retirement': 'The instance is running on degraded hardware',
  'instance-stop': 'The instance is running on degraded hardware',
};

function faultOf({ action, code, message, status, times, retryAfterSeconds, of }: Fault): object {
  return {
    action,
    code,
    message: message ?? code,
    status: status ?? (code === 'RequestLimitExceeded' ? 503 : 400),
    times: times ?? 1,
    retryAfterSeconds,
    harness: of === 'harness',
  };
}

/** The events of all instances: who announces them knows them. */
class Events {
  readonly #of = new Map<string, Map<string, Readonly<Record<string, string>>>>();
  readonly #put: (instance: string, events: readonly object[]) => Promise<void>;

  constructor(put: (instance: string, events: readonly object[]) => Promise<void>) {
    this.#put = put;
  }

  async announce(
    instance: string,
    { code, notBefore, notAfter, notBeforeDeadline, description }: Announcement,
  ): Promise<string> {
    const id = `instance-event-${randomBytes(9).toString('hex').slice(0, 17)}`;
    const events = this.#of.get(instance) ?? new Map<string, Readonly<Record<string, string>>>();
    this.#of.set(instance, events);
    events.set(id, {
      InstanceEventId: id,
      Code: code,
      Description: description ?? descriptions[code],
      NotBefore: notBefore.toISOString(),
      ...(notAfter === undefined ? {} : { NotAfter: notAfter.toISOString() }),
      ...(notBeforeDeadline === undefined
        ? {}
        : { NotBeforeDeadline: notBeforeDeadline.toISOString() }),
    });
    await this.#put(instance, [...events.values()]);
    return id;
  }

  async change(id: string, prefix: string | undefined): Promise<void> {
    const [instance, events] = [...this.#of].find(([, known]) => known.has(id)) ?? [];
    const event = events?.get(id);
    if (instance === undefined || events === undefined || event === undefined)
      throw new Error(`nobody has announced ${id}`);
    if (prefix === undefined) events.delete(id);
    else events.set(id, { ...event, Description: `${prefix}${event['Description'] ?? ''}` });
    await this.#put(instance, [...events.values()]);
  }
}

function emulator(endpoint: string, end: () => Promise<void>): Ec2Emulator {
  const administer = async (method: string, what: string, body?: unknown): Promise<unknown> => {
    const reply = await fetch(`${endpoint}/_drydock/${what}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: unknown = await reply.json();
    if (!reply.ok) throw new Error(`${method} ${what}: ${JSON.stringify(answer)}`);
    return answer;
  };
  const must = async (
    action: string,
    params: Readonly<Record<string, string>>,
  ): Promise<Element> => {
    const answer = await call(endpoint, harnessAgent, action, params);
    if (answer.kind === 'error')
      throw new Error(`${action}: ${answer.status} ${answer.code}: ${answer.message}`);
    return answer.root;
  };
  const forIds =
    (action: string) =>
    async (...ids: readonly string[]) =>
      void (await must(action, listed('InstanceId', ids)));
  const log = async (): Promise<readonly Call[]> =>
    ((await administer('GET', 'calls')) as readonly Call[]).filter(
      ({ agent }) => agent !== harnessAgent,
    );
  const events = new Events(
    async (instance, all) => void (await administer('PUT', 'events', { [instance]: all })),
  );
  return {
    kind: 'started',
    endpoint,
    region,
    call: (action, params = {}) => call(endpoint, 'drydock-test', action, params),
    runInstances: async (count, tags = {}, zone = `${region}a`) => {
      const entries = Object.entries(tags).flatMap(([key, value], i) => [
        [`TagSpecification.1.Tag.${i + 1}.Key`, key] as const,
        [`TagSpecification.1.Tag.${i + 1}.Value`, value] as const,
      ]);
      const root = await must('RunInstances', {
        ImageId: 'ami-12c6146b',
        InstanceType: 'm5.large',
        MinCount: String(count),
        MaxCount: String(count),
        'Placement.AvailabilityZone': zone,
        ...(entries.length === 0
          ? {}
          : { 'TagSpecification.1.ResourceType': 'instance', ...Object.fromEntries(entries) }),
      });
      return elementsAt(root, 'instancesSet/item').map(item => textAt(item, 'instanceId') ?? '');
    },
    instances: async () => (await administer('GET', 'instances')) as readonly Instance[],
    terminate: forIds('TerminateInstances'),
    stopInstances: forIds('StopInstances'),
    startInstances: forIds('StartInstances'),
    reboot: forIds('RebootInstances'),
    forget: async (...ids) => void (await administer('POST', 'forget', ids)),
    announce: (instance, announcement) => events.announce(instance, announcement),
    completeEvent: event => events.change(event, '[Completed] '),
    cancelEvent: event => events.change(event, '[Canceled] '),
    withdrawEvent: event => events.change(event, undefined),
    log,
    calls: async () => {
      const counts: Record<string, number> = {};
      for (const { action, fault } of await log())
        if (fault === null) counts[action] = (counts[action] ?? 0) + 1;
      return counts;
    },
    clearCalls: async () => void (await administer('DELETE', 'calls')),
    fault: async fault => void (await administer('POST', 'faults', faultOf(fault))),
    clearFaults: async () => void (await administer('DELETE', 'faults')),
    delay: async (action, seconds) => void (await administer('PUT', 'delay', { action, seconds })),
    stop: end,
    [Symbol.asyncDispose]: end,
  };
}

function endpointOf(running: Running): Promise<string> {
  return waitFor(
    'the EC2 emulator to listen',
    async () => {
      const said = /listening on (http:\S+)/.exec(readFileSync(running.logFile, 'utf8'))?.[1];
      if (said !== undefined) return { done: said };
      if (!running.alive()) return { done: '' };
      return { yet: 'it has said nothing yet' };
    },
    { deadlineMs: 60_000 },
  );
}

/**
 * Starts an EC2 of our own on 127.0.0.1, or says why this machine has none. It ends with this
 * process at the latest.
 */
export async function startEc2(): Promise<Ec2Emulator | LeftOut> {
  const installed = await ensurePython(
    'integrations/ec2',
    join(import.meta.dirname, 'requirements.txt'),
  );
  if (installed.kind === 'left-out') return installed;
  const folder = makeFolder();
  const running = start({ kind: 'itself' }, folder.path, {
    name: 'ec2',
    command: installed.python,
    args: [join(import.meta.dirname, 'server.py')],
    environment: { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
  });
  const end = async (): Promise<void> => {
    await running.stop();
    folder.remove();
  };
  try {
    const endpoint = await endpointOf(running);
    if (endpoint === '') throw new Error(`the EC2 emulator has ended:\n${running.tail()}`);
    return emulator(endpoint, end);
  } catch (error) {
    await end();
    throw error;
  }
}
