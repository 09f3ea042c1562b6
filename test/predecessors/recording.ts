import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, type JsonObject } from '@drydock/apimachinery';
import type { Api } from '../control-plane/objects/api.ts';
import { nodePath } from '../control-plane/objects/cluster.ts';
import type { List } from '../control-plane/objects/objects.ts';
import { collectionOfOld, leasePathOf, type Old } from './old.ts';

/** What an older operator has left of one node, as it stood in the API. */

/** An object with what matters of it to whoever comes after. */
export type Left = JsonObject & {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
    readonly ownerReferences?: readonly JsonObject[];
  };
  readonly spec?: JsonObject;
  readonly status?: JsonObject;
};

export type Recording = {
  readonly operator: string;
  readonly situation: string;
  readonly recordedAt: string;
  /** The node's own, before the maintenance: what has to come back. */
  readonly before: {
    readonly labels: Readonly<Record<string, string>>;
    readonly taints: readonly {
      readonly key: string;
      readonly value?: string;
      readonly effect: string;
    }[];
  };
  /** Without its status: no older operator writes there. */
  readonly node: Left;
  readonly maintenances: readonly Left[];
  readonly lease?: Left;
};

const noise = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'managedFields',
  'deletionGracePeriodSeconds',
];

function without(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

/** An object without what is different in every cluster and what nobody reads. */
function trimmed(object: JsonObject): Left {
  const metadata = without(isObject(object['metadata']) ? object['metadata'] : {}, noise);
  const owners = metadata['ownerReferences'];
  const trimmedOwners = Array.isArray(owners) && {
    ownerReferences: owners.filter(isObject).map(one => without(one, ['uid'])),
  };
  return { ...object, metadata: { ...metadata, ...trimmedOwners } } as unknown as Left;
}

/** Everything that an older operator has made of this node. */
export async function leftOn(
  api: Api,
  old: Old,
  nodeName: string,
): Promise<{ readonly node: Left; readonly maintenances: readonly Left[]; readonly lease?: Left }> {
  const { items } = await api.get<List<Left>>(collectionOfOld(old));
  const lease = await api.call('GET', leasePathOf(old, nodeName));
  return {
    node: trimmed(without(await api.get<JsonObject>(nodePath(nodeName)), ['status'])),
    maintenances: items.filter(({ spec }) => spec?.['nodeName'] === nodeName).map(trimmed),
    ...(lease.status === 200 && { lease: trimmed(lease.body as JsonObject) }),
  };
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value);
}

/** The same with every time changed. */
export function withTimes<T>(value: T, change: (time: string) => string): T {
  if (isTime(value)) return change(value as string) as T;
  if (Array.isArray(value)) return value.map(item => withTimes<unknown>(item, change)) as T;
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withTimes<unknown>(item, change)]),
  ) as T;
}

const folder = join(import.meta.dirname, 'recordings');

function fileOf(old: Old, situation: string): string {
  return join(folder, old.name, `${situation}.json`);
}

export function readRecording(old: Old, situation: string): Recording {
  return JSON.parse(readFileSync(fileOf(old, situation), 'utf8')) as Recording;
}

export function writeRecording(old: Old, recording: Recording): void {
  writeFileSync(fileOf(old, recording.situation), `${JSON.stringify(recording, undefined, 2)}\n`);
}
