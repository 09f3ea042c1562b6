import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import type { EventKind } from '@drydock/core';
import type { MachineEvent } from '@drydock/core/machine';
import { type Fetched, readCloudTime, type SourceError } from '../signals.ts';
import {
  askMetadata,
  type MetadataAccess,
  type MetadataReader,
  type MetadataRequest,
  parsed,
  unexpected,
} from './http.ts';

const eventsPath = '/metadata/scheduledevents?api-version=2020-07-01';
const computePath = '/metadata/instance/compute?api-version=2021-02-01';

/**
 * Timeout of the first request, in milliseconds: the very first one enables scheduled events for
 * the machine and can take two minutes (Azure, "Enabling and disabling").
 */
const firstAnswerMs = 130_000;

const kinds: ReadonlyMap<string, EventKind> = new Map([
  ['Freeze', 'freeze'],
  ['Reboot', 'reboot'],
  ['Redeploy', 'redeploy'],
  ['Preempt', 'preemption'],
  ['Terminate', 'termination'],
]);

type Self = { readonly name: string; readonly resourceId: string };

function string(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function describe(raw: JsonObject): string {
  const seconds = raw['DurationInSeconds'];
  const lasts =
    typeof seconds !== 'number' || seconds < 0
      ? ''
      : seconds === 0
        ? ' (without interruption)'
        : ` (expected to last ${seconds} s)`;
  const by = raw['EventSource'] === 'User' ? ', asked for by a user' : '';
  return `${string(raw['Description']) || string(raw['EventType'])}${by}${lasts}`;
}

/**
 * Returns whether an event names this machine. A document names machines of the whole availability
 * set or placement group; names of resources are case-insensitive.
 */
function concerns(raw: JsonObject, { name }: Self): boolean {
  const { Resources: resources } = raw;
  return (
    Array.isArray(resources) &&
    resources.some(resource => string(resource as Json).toLowerCase() === name.toLowerCase())
  );
}

function eventOf(raw: JsonObject, self: Self, source: string): MachineEvent {
  const code = string(raw['EventType']);
  const notBefore = readCloudTime(raw['NotBefore']);
  return {
    provider: 'azure',
    id: string(raw['EventId']) || code,
    kind: kinds.get(code) ?? 'maintenance',
    code,
    instance: self.name,
    ...(self.resourceId !== '' && { resource: self.resourceId }),
    ...(notBefore !== undefined && { notBefore, deadline: notBefore }),
    state: raw['EventStatus'] === 'Started' ? 'Active' : 'Scheduled',
    description: describe(raw),
    source,
  };
}

function asking(access: MetadataAccess) {
  return async (question: MetadataRequest, signal: AbortSignal) => {
    const headers = { Metadata: 'true', ...question.headers };
    const { value, trouble } = await askMetadata(access, { ...question, headers }, signal);
    if (trouble !== undefined) return { trouble };
    return value.status === 200 ? { value } : { trouble: unexpected(question.path, value) };
  };
}

type Ask = ReturnType<typeof asking>;

async function selfOf(ask: Ask, signal: AbortSignal): Promise<Fetched<Self>> {
  const { value, trouble } = await ask({ path: computePath }, signal);
  if (trouble !== undefined) return { trouble };
  const document = parsed(computePath, value);
  if (document.trouble !== undefined) return document;
  const { name, resourceId } = isObject(document.value) ? document.value : {};
  if (typeof name !== 'string' || name === '')
    return { trouble: unexpected(computePath, value, 'It has no name of this machine.') };
  return { value: { name, resourceId: string(resourceId) } };
}

async function documentOf(
  ask: Ask,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Fetched<readonly JsonObject[]>> {
  const { value, trouble } = await ask({ path: eventsPath, timeoutMs }, signal);
  if (trouble !== undefined) return { trouble };
  const document = parsed(eventsPath, value);
  if (document.trouble !== undefined) return document;
  const { Events: events } = isObject(document.value) ? document.value : {};
  if (!Array.isArray(events))
    return {
      trouble: unexpected(eventsPath, value, 'It has no list of events; it is asked again.'),
    };
  return { value: events.filter(isObject) };
}

/**
 * A reader for Azure, which starts an event early once one of its machines has acknowledged it: for
 * every machine that it names.
 */
export interface AzureMetadata extends MetadataReader {
  /**
   * Acknowledges an event, so that Azure waits no longer, for any of its machines. Returns
   * undefined on success. Never called by the reader itself.
   */
  acknowledge(eventId: string, signal: AbortSignal): Promise<SourceError | undefined>;
}

/**
 * Reads Azure's Scheduled Events (api-version 2020-07-01) for this machine. NotBefore is the
 * deadline; it is missing once the event has started. Finished events are not listed: there is no
 * state Completed. All times are UTC. The first response may take two minutes.
 */
export function azureMetadata(access: MetadataAccess): AzureMetadata {
  const ask = asking(access);
  let self: Self | undefined;
  let answered = false;
  const known = async (signal: AbortSignal): Promise<Fetched<Self>> => {
    if (self !== undefined) return { value: self };
    const found = await selfOf(ask, signal);
    self = found.value;
    return found;
  };
  return {
    identity: async signal => {
      const { value, trouble } = await known(signal);
      return trouble === undefined ? { value: value.name } : { trouble };
    },
    urgent: async signal => {
      const { value: me, trouble } = await known(signal);
      if (trouble !== undefined) return { trouble };
      const document = await documentOf(ask, answered ? 5000 : firstAnswerMs, signal);
      if (document.trouble !== undefined) return document;
      answered = true;
      return {
        value: document.value
          .filter(raw => concerns(raw, me))
          .map(raw => eventOf(raw, me, access.source)),
      };
    },
    scheduled: async () => ({ value: [] }),
    acknowledge: async (eventId, signal) => {
      const body = JSON.stringify({ StartRequests: [{ EventId: eventId }] });
      const { trouble } = await ask(
        { path: eventsPath, method: 'POST', headers: { 'content-type': 'application/json' }, body },
        signal,
      );
      return trouble;
    },
  };
}
