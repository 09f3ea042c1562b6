import {
  isBefore,
  isObject,
  type Json,
  type JsonObject,
  secondsAfter,
} from '@drydock/apimachinery';
import type { EventKind } from '@drydock/core';
import type { MachineEvent } from '@drydock/core/machine';
import { type AwsEvent, machineEvents } from '../aws/events.ts';
import { type Fetched, readCloudTime } from '../signals.ts';
import {
  askMetadata,
  type MetadataAccess,
  type MetadataReader,
  type MetadataResponse,
  parsed,
  unexpected,
} from './http.ts';

const tokenSeconds = 21_600;
const root = '/latest/meta-data/';

/**
 * Keeps a session token of IMDSv2: fetched once, renewed before it expires, dropped when the
 * service refuses it.
 */
function tokens(access: MetadataAccess) {
  let kept: { readonly token: string; readonly until: Temporal.Instant } | undefined;
  const fetchToken = async (signal: AbortSignal): Promise<Fetched<string>> => {
    const headers = { 'X-aws-ec2-metadata-token-ttl-seconds': String(tokenSeconds) };
    const { value, trouble } = await askMetadata(
      access,
      { path: '/latest/api/token', method: 'PUT', headers },
      signal,
    );
    if (trouble !== undefined) {
      const help =
        'In a pod without hostNetwork the hop limit of the instance (HttpPutResponseHopLimit) must be 2.';
      return { trouble: { ...trouble, message: `${trouble.message} ${help}` } };
    }
    const help =
      value.status === 403
        ? 'The metadata service of this instance is turned off (HttpEndpoint): turn it on.'
        : undefined;
    if (value.status !== 200 || value.text === '')
      return { trouble: unexpected('/latest/api/token', value, help) };
    kept = { token: value.text, until: secondsAfter(access.clock.now(), tokenSeconds * 0.8) };
    return { value: value.text };
  };
  return {
    get: async (signal: AbortSignal): Promise<Fetched<string>> =>
      kept !== undefined && isBefore(access.clock.now(), kept.until)
        ? { value: kept.token }
        : fetchToken(signal),
    drop: (): void => {
      kept = undefined;
    },
  };
}

/**
 * Sends a request; 'none' means that the service responded with 404, its way to report an absence.
 */
type Ask = (path: string, signal: AbortSignal) => Promise<Fetched<MetadataResponse | 'none'>>;

function asking(access: MetadataAccess): Ask {
  const session = tokens(access);
  const once: Ask = async (path, signal) => {
    const { value: token, trouble } = await session.get(signal);
    if (trouble !== undefined) return { trouble };
    return askMetadata(
      access,
      { path: `${root}${path}`, headers: { 'X-aws-ec2-metadata-token': token } },
      signal,
    );
  };
  return async (path, signal) => {
    let reply = await once(path, signal);
    if (typeof reply.value === 'object' && reply.value.status === 401) {
      session.drop();
      reply = await once(path, signal);
    }
    if (typeof reply.value !== 'object') return reply;
    if (reply.value.status === 404) return { value: 'none' };
    return reply.value.status === 200 ? reply : { trouble: unexpected(path, reply.value) };
  };
}

async function json(ask: Ask, path: string, signal: AbortSignal): Promise<Fetched<unknown>> {
  const { value, trouble } = await ask(path, signal);
  if (trouble !== undefined) return { trouble };
  return value === 'none' || value.text.trim() === '' ? { value: undefined } : parsed(path, value);
}

function string(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function listed(document: unknown): readonly JsonObject[] {
  return Array.isArray(document) ? document.filter(isObject) : [];
}

function maintenance(raw: JsonObject): AwsEvent {
  return {
    id: string(raw['EventId']),
    code: string(raw['Code']),
    description: string(raw['Description']),
    notBefore: readCloudTime(raw['NotBefore']),
    notAfter: readCloudTime(raw['NotAfter']),
    state: string(raw['State']),
  };
}

function interruption(
  raw: unknown,
  instance: string,
  source: string,
  now: Temporal.Instant,
): readonly MachineEvent[] {
  if (!isObject(raw) || typeof raw['action'] !== 'string') return [];
  const time = readCloudTime(raw['time']);
  return [
    {
      provider: 'aws',
      id: 'spot-interruption',
      kind: 'preemption',
      code: raw['action'],
      instance,
      ...(time !== undefined && { notBefore: time, deadline: time }),
      state: time !== undefined && isBefore(now, time) ? 'Scheduled' : 'Active',
      description: `AWS takes this Spot instance back: ${raw['action']}`,
      source,
    },
  ];
}

function rebalance(raw: unknown, instance: string, source: string): readonly MachineEvent[] {
  if (!isObject(raw)) return [];
  const since = string(raw['noticeTime']);
  const description = `This Spot instance is at elevated risk of being taken back${since === undefined ? '' : `, as of ${since}`}`;
  return [
    {
      provider: 'aws',
      id: 'rebalance-recommendation',
      kind: 'rebalance',
      code: 'rebalance',
      instance,
      state: 'Scheduled',
      description,
      source,
    },
  ];
}

/**
 * Target states of an Auto Scaling group in which its instance does not continue to run here, with
 * their events.
 */
const targets: ReadonlyMap<string, { readonly kind: EventKind; readonly description: string }> =
  new Map([
    [
      'Terminated',
      { kind: 'termination', description: 'The Auto Scaling group terminates this instance' },
    ],
    [
      'Warmed:Stopped',
      {
        kind: 'stop',
        description: 'The Auto Scaling group stops this instance, for its warm pool',
      },
    ],
    [
      'Warmed:Hibernated',
      {
        kind: 'stop',
        description: 'The Auto Scaling group hibernates this instance, for its warm pool',
      },
    ],
  ]);

/**
 * Returns the event of a target state, without a deadline: AWS does not publish how long the
 * group's lifecycle hooks wait.
 */
function lifecycle(target: string, instance: string, source: string): readonly MachineEvent[] {
  const known = targets.get(target);
  return known === undefined
    ? []
    : [
        {
          provider: 'aws',
          id: 'autoscaling-lifecycle',
          code: `target-lifecycle-state ${target}`,
          instance,
          state: 'Active',
          source,
          ...known,
        },
      ];
}

function identifying(ask: Ask): MetadataReader['identity'] {
  let instance: string | undefined;
  return async signal => {
    if (instance !== undefined) return { value: instance };
    const { value, trouble } = await ask('instance-id', signal);
    if (trouble !== undefined) return { trouble };
    if (value === 'none')
      return {
        trouble: {
          reason: 'Failed',
          message: 'The metadata service knows no instance-id: is this an EC2 instance?',
        },
      };
    instance = value.text.trim();
    return { value: instance };
  };
}

/** Returns the region of this machine; a failure without a metadata service of EC2. */
export async function awsRegion(
  access: MetadataAccess,
  signal: AbortSignal,
): Promise<Fetched<string>> {
  const { value, trouble } = await asking(access)('placement/region', signal);
  if (trouble !== undefined) return { trouble };
  if (value === 'none')
    return {
      trouble: {
        reason: 'RegionUnknown',
        message: 'The metadata service knows no placement/region: is this an EC2 instance?',
      },
    };
  return { value: value.text.trim() };
}

/**
 * Requests the instance's id and two documents; a document is absent where the service has none.
 */
function asksTwo(ask: Ask, identity: MetadataReader['identity'], one: string, other: string) {
  return async (signal: AbortSignal): Promise<Fetched<readonly [string, unknown, unknown]>> => {
    const id = await identity(signal);
    if (id.trouble !== undefined) return id;
    const [first, second] = await Promise.all([json(ask, one, signal), json(ask, other, signal)]);
    const trouble = first.trouble ?? second.trouble;
    return trouble === undefined ? { value: [id.value, first.value, second.value] } : { trouble };
  };
}

/** Returns the target state of an instance in an Auto Scaling group; empty for any other. */
async function targetState(ask: Ask, signal: AbortSignal): Promise<Fetched<string>> {
  const { value, trouble } = await ask('autoscaling/target-lifecycle-state', signal);
  if (trouble !== undefined) return { trouble };
  return { value: value === 'none' ? '' : value.text.trim() };
}

/**
 * Reads the announcements of EC2's metadata service (IMDSv2 only) for this machine: scheduled
 * events and their history, the two minutes' notice of a Spot instance, the recommendation to
 * rebalance, and the removal by its Auto Scaling group. All times are UTC. A 404 means that nothing
 * is announced.
 */
export function awsMetadata(access: MetadataAccess): MetadataReader {
  const { clock, source } = access;
  const ask = asking(access);
  const identity = identifying(ask);
  const notices = asksTwo(
    ask,
    identity,
    'spot/instance-action',
    'events/recommendations/rebalance',
  );
  const maintenances = asksTwo(
    ask,
    identity,
    'events/maintenance/scheduled',
    'events/maintenance/history',
  );
  return {
    identity,
    urgent: async signal => {
      const { value, trouble } = await notices(signal);
      if (trouble !== undefined) return { trouble };
      const target = await targetState(ask, signal);
      if (target.trouble !== undefined) return target;
      const [id, action, notice] = value;
      return {
        value: [
          ...interruption(action, id, source, clock.now()),
          ...rebalance(notice, id, source),
          ...lifecycle(target.value, id, source),
        ],
      };
    },
    scheduled: async signal => {
      const { value, trouble } = await maintenances(signal);
      if (trouble !== undefined) return { trouble };
      const [id, scheduled, history] = value;
      // A finished event may be in both for a moment: then the finished one counts.
      const events = machineEvents(
        [...listed(scheduled), ...listed(history)].map(maintenance),
        id,
        source,
        clock.now(),
      );
      return { value: [...new Map(events.map(event => [event.id, event])).values()] };
    },
  };
}
