import { isObject, type Json, type JsonObject, readTime } from '@drydock/apimachinery';
import { type EventKind, eventKinds } from '@drydock/core';
import { type EventState, eventStates, instanceIn, type MachineEvent } from '@drydock/core/machine';

/** One HTTP request: names of headers in lower case, the body as text. */
export type CloudEventsRequest = {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
};

/** Events of a request. */
export type ReadEvents = {
  readonly events: readonly MachineEvent[];
  /** Errors of other events in the same batch: a line each. */
  readonly unread: readonly string[];
};

/** Reason for the refusal of a request, as one line for its sender, and the HTTP status. */
export type RejectedRequest = { readonly refused: string; readonly status: 400 | 413 | 415 };

export type CloudEventsOptions = {
  /** Types of other senders, with their kinds. They take precedence over Drydock's own. */
  readonly types?: Readonly<Record<string, EventKind>>;
  /** Source of every event; `cloudevents` when left out. */
  readonly source?: string;
};

const ownType = 'dev.drydock.machine.';
const maxBodyLength = 256 * 1024;
const maxEvents = 1000;
const maxNameLength = 1024;

/** An error in a request. Thrown only within this file. */
class Fault extends Error {
  readonly status: RejectedRequest['status'];

  constructor(message: string, status: RejectedRequest['status'] = 400) {
    super(message);
    this.status = status;
  }
}

function parseJson(body: string): Json {
  try {
    return JSON.parse(body) as Json;
  } catch {
    throw new Fault('the body is not JSON');
  }
}

/**
 * Decodes RFC 3986 escapes, as the HTTP binding requires for values of headers (section 3.1.3.2);
 * returns an invalid one unchanged.
 */
function unescaped(value: string): string {
  try {
    return decodeURIComponent(value.replace(/^"(.*)"$/, '$1'));
  } catch {
    return value;
  }
}

function fromHeaders({ headers, body }: CloudEventsRequest, mediaType: string): JsonObject {
  const given = Object.entries(headers).filter(
    ([name, value]) => name.startsWith('ce-') && value !== undefined,
  );
  const attributes = Object.fromEntries(
    given.map(([name, value = '']) => [name.slice(3), unescaped(value)]),
  );
  if (body.trim() === '') return attributes;
  if (!isJson(mediaType))
    throw new Fault(`the data of an event has to be JSON, not ${mediaType || 'of no type'}`, 415);
  return { ...attributes, data: parseJson(body) };
}

function isJson(mediaType: string): boolean {
  return (
    mediaType === 'application/json' || mediaType === 'text/json' || mediaType.endsWith('+json')
  );
}

/**
 * Returns the envelopes by the CloudEvents HTTP binding 1.0.2, section 3: the media type selects
 * structured and batched mode; anything else is binary mode.
 */
function envelopesOf(request: CloudEventsRequest): readonly Json[] {
  const mediaType =
    (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (mediaType === 'application/cloudevents+json') return [parseJson(request.body)];
  if (mediaType === 'application/cloudevents-batch+json') {
    const batch = parseJson(request.body);
    if (!Array.isArray(batch)) throw new Fault('a batch must be a list of events');
    return batch as readonly Json[];
  }
  if (mediaType.startsWith('application/cloudevents'))
    throw new Fault(`events have to be sent as JSON, not as ${mediaType}`, 415);
  if (request.headers['ce-specversion'] !== undefined) return [fromHeaders(request, mediaType)];
  throw new Fault(
    `this is no CloudEvent: its content type is ${mediaType || 'missing'} and it has no header ce-specversion`,
    415,
  );
}

/**
 * Returns whether a text is a valid name. Names end up in logs, statuses and keys: so no control
 * characters (as the specification requires of its type String), and a limited length.
 */
function isName(value: string): boolean {
  return value.length <= maxNameLength && !/\p{Cc}/u.test(value);
}

function attribute(envelope: JsonObject, name: string): string {
  const value = envelope[name];
  if (typeof value !== 'string' || value.trim() === '')
    throw new Fault(`the attribute ${name} is missing`);
  if (!isName(value.trim()))
    throw new Fault(
      `the attribute ${name} is longer than ${maxNameLength} characters or has control characters`,
    );
  return value.trim();
}

function dataOf({ data, data_base64: encoded }: JsonObject): JsonObject {
  const value =
    typeof encoded === 'string'
      ? parseJson(Buffer.from(encoded, 'base64').toString('utf8'))
      : (data ?? {});
  if (!isObject(value)) throw new Fault('data must be a JSON object');
  return value;
}

function timeOf(
  object: JsonObject,
  name: string,
  what = `data.${name}`,
): Temporal.Instant | undefined {
  const value = object[name];
  if (value === undefined || value === null) return undefined;
  const time = readTime(value);
  if (time === undefined)
    throw new Fault(
      `${what} must be an RFC 3339 time with a zone, for example 2030-01-01T00:00:00Z`,
    );
  return time;
}

function stringOf(data: JsonObject, name: string): string | undefined {
  const value = data[name];
  if (value !== undefined && value !== null && typeof value !== 'string')
    throw new Fault(`data.${name} must be a string`);
  return value ?? undefined;
}

/**
 * Returns the id that stays the same when an event is announced again; the message's id where its
 * sender has none.
 */
function idOf(data: JsonObject, id: string): string {
  const own = stringOf(data, 'id')?.trim();
  if (own !== undefined && !isName(own))
    throw new Fault(`data.id is longer than ${maxNameLength} characters or has control characters`);
  return own === undefined || own === '' ? id : own;
}

function kindOf(type: string, types: Readonly<Record<string, EventKind>>): EventKind {
  if (Object.hasOwn(types, type) && types[type] !== undefined) return types[type];
  const kind = eventKinds.find(kind => type === `${ownType}${kind}`);
  if (kind === undefined) {
    throw new Fault(
      `the type ${type} is not known: map it to a kind in the configuration, or send one of ${ownType}${eventKinds.join('|')}`,
    );
  }
  return kind;
}

function stateOf(data: JsonObject): EventState {
  const text = stringOf(data, 'state') ?? 'Scheduled';
  const state = eventStates.find(
    state => state.toLowerCase() === text.toLowerCase().replace('canceled', 'cancelled'),
  );
  if (state === undefined)
    throw new Fault(`data.state ${text} is not known: it is one of ${eventStates.join(', ')}`);
  return state;
}

function eventOf(
  envelope: Json,
  { types = {}, source = 'cloudevents' }: CloudEventsOptions,
): MachineEvent {
  if (!isObject(envelope)) throw new Fault('an event must be a JSON object');
  const version = attribute(envelope, 'specversion');
  if (version !== '1.0') throw new Fault(`specversion ${version} is not spoken here: send 1.0`);
  const id = attribute(envelope, 'id');
  const provider = attribute(envelope, 'source');
  const type = attribute(envelope, 'type');
  const subject = attribute(envelope, 'subject');
  const kind = kindOf(type, types);
  const data = dataOf(envelope);
  const notBefore = timeOf(data, 'notBefore');
  const notAfter = timeOf(data, 'notAfter');
  const deadline = timeOf(data, 'deadline') ?? notBefore;
  const announcedAt = timeOf(envelope, 'time', 'the attribute time');
  const description = stringOf(data, 'description');
  const instance = instanceIn(subject);
  return {
    provider,
    id: idOf(data, id),
    kind,
    code: type,
    instance,
    ...(instance !== subject && { resource: subject }),
    ...(notBefore !== undefined && { notBefore }),
    ...(notAfter !== undefined && { notAfter }),
    ...(deadline !== undefined && { deadline }),
    state: stateOf(data),
    ...(announcedAt !== undefined && { announcedAt }),
    ...(description !== undefined && { description }),
    source,
  };
}

function eventsIn(request: CloudEventsRequest, options: CloudEventsOptions): ReadEvents {
  if (Buffer.byteLength(request.body) > maxBodyLength)
    throw new Fault(`the body is longer than ${maxBodyLength / 1024} KiB`, 413);
  const envelopes = envelopesOf(request);
  if (envelopes.length > maxEvents)
    throw new Fault(`${envelopes.length} events at once are more than ${maxEvents}`, 413);
  const faults: Fault[] = [];
  const events = envelopes.flatMap((envelope, index) => {
    try {
      return [eventOf(envelope, options)];
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      faults.push(
        envelopes.length === 1
          ? error
          : new Fault(`event ${index + 1}: ${error.message}`, error.status),
      );
      return [];
    }
  });
  const [first] = faults;
  if (first !== undefined && events.length === 0) throw first;
  return { events, unread: faults.map(({ message }) => message) };
}

/**
 * Reads one request of the CloudEvents 1.0 HTTP binding (structured, batched or binary mode, JSON
 * only) as events about machines. The type is `dev.drydock.machine.<kind>` or one of
 * `options.types`; the subject is the machine: a node's name, a machine's name, a providerID or an
 * instance id. `data` may have notBefore, notAfter, deadline (RFC 3339; the deadline is notBefore
 * when left out), state, description, and an id that stays the same when the same event is
 * announced again. Each event of a batch is read on its own; when none is valid, the first error is
 * returned.
 */
export function readCloudEvents(
  request: CloudEventsRequest,
  options: CloudEventsOptions = {},
): ReadEvents | RejectedRequest {
  try {
    return eventsIn(request, options);
  } catch (error) {
    if (error instanceof Fault) return { refused: error.message, status: error.status };
    throw error;
  }
}
