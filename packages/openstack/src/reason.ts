import {
  isObject,
  type Json,
  type JsonObject,
  readTime,
  secondsAfter,
} from '@drydock/apimachinery';
import type { ServerMigration } from '@drydock/core/hypervisor';
import type { NovaClient } from './client.ts';

function objects(body: Json | undefined, ...path: readonly string[]): readonly JsonObject[] {
  let value = body;
  for (const key of path) value = isObject(value) ? value[key] : undefined;
  return Array.isArray(value) ? value.filter(isObject) : [];
}

const kinds: ReadonlySet<unknown> = new Set(['live-migration', 'migrate']);

function beganBefore(action: JsonObject, { updated }: ServerMigration): boolean {
  const { start_time: told } = action;
  const start = typeof told === 'string' ? readTime(`${told}Z`) : undefined;
  return start === undefined || Temporal.Instant.compare(start, secondsAfter(updated, 2)) <= 0;
}

/**
 * Returns the message of an event. `details` exists from 2.84 on; before that an administrator sees
 * the trace, which names the exception.
 */
function wordsOf(event: JsonObject): string | undefined {
  const { details, traceback } = event;
  // Nova ends some of them with a space.
  if (typeof details === 'string' && details !== '') return details.trim();
  return typeof traceback === 'string' ? /.*\bexception\.(\w+)/s.exec(traceback)?.[1] : undefined;
}

/**
 * Returns why a migration failed, in Nova's words: from the actions of the server, because the
 * server itself has no reason (its `fault` stays empty). Two calls. Undefined where Nova has no
 * reason, or cannot be reached.
 */
export async function reasonOf(
  client: NovaClient,
  migration: ServerMigration,
  signal: AbortSignal,
): Promise<string | undefined> {
  const path = `/servers/${migration.server}/os-instance-actions`;
  const actions = await client.call({ method: 'GET', path }, signal);
  const action = objects(actions.value, 'instanceActions').find(
    one => kinds.has(one['action']) && beganBefore(one, migration),
  );
  const request = action?.['request_id'];
  if (typeof request !== 'string') return undefined;
  const answer = await client.call({ method: 'GET', path: `${path}/${request}` }, signal);
  const events = objects(answer.value, 'instanceAction', 'events').filter(
    ({ result }) => result === 'Error',
  );
  return events.map(wordsOf).find(words => words !== undefined);
}
