import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  isObject,
  type Json,
  type JsonObject,
  readTime,
  statusMessage,
} from '@drydock/apimachinery';
import { type Api, type ApiResponse, listPages } from '@drydock/kube-client';
import { freeze, text } from '@drydock/kube-sim';
import { errorText } from '@drydock/utils';
import { type ClusterSnapshot, type CopiedKind, copiedKinds, pathOfKind } from './kept.ts';
import { redacted } from './kept-fields.ts';

/**
 * Members whose own members are shared: most of these are equal in many objects, a whole one hardly
 * ever.
 */
const parents = ['metadata', 'spec', 'status'] as const;

/**
 * Replaces equal parts of several objects by one frozen part: the containers of all pods of a
 * Deployment, their labels and conditions. Most of a large cluster is such repetition; stored once,
 * it takes a fraction of the memory, and is read in no time.
 */
export class Shared {
  readonly #parts = new Map<string, Json>();

  /** Returns an equal object of shared parts. */
  of(object: JsonObject): JsonObject {
    const result: Record<string, Json | undefined> = { ...object };
    for (const parent of parents) {
      const value = object[parent];
      if (isObject(value)) result[parent] = this.#members(value);
    }
    return result;
  }

  #members(parent: JsonObject): JsonObject {
    const result: Record<string, Json | undefined> = {};
    for (const [key, value] of Object.entries(parent))
      result[key] = typeof value === 'object' && value !== null ? this.#one(value) : value;
    return result;
  }

  #one(part: Json): Json {
    const text = JSON.stringify(part);
    const known = this.#parts.get(text);
    if (known !== undefined) return known;
    this.#parts.set(text, freeze(part));
    return part;
  }
}

/** File beside the lists: the time of the copy, and what it lacks. */
const aboutFile = 'snapshot.json';

/** Limit of objects in one file: a text of more than half a gigabyte cannot be read again. */
const maxInFile = 20_000;

/**
 * An error for a folder without a snapshot, or one that cannot be read or written: a sentence for
 * users.
 */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError';
}

function writeList(file: string, items: readonly JsonObject[]): void {
  const lines = items.map(item => JSON.stringify(item)).join(',\n');
  writeFileSync(file, `{"apiVersion":"v1","kind":"List","items":[\n${lines}\n]}\n`, {
    mode: 0o600,
  });
}

/** Returns the name of a file: with the group where several groups have a kind of this name. */
function fileOf(plural: string, apiVersion: string): string {
  const others = copiedKinds.filter(one => one.plural === plural);
  return others.length > 1 ? `${plural}.${apiVersion.split('/')[0] ?? ''}` : plural;
}

/**
 * Writes a copy into a folder, which is created if missing: one List of a kind in each file.
 * Returns the names of the files. Throws a SnapshotError.
 */
export function writeCopy(
  folder: string,
  { snapshotTime, objects, leftOut }: ClusterSnapshot,
): readonly string[] {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // An existing folder keeps its permissions: so each file is private on its own.
    const files: string[] = [];
    for (const { apiVersion, kind, plural } of copiedKinds) {
      const items = objects.filter(one => one['kind'] === kind && one['apiVersion'] === apiVersion);
      for (let from = 0; from < items.length; from += maxInFile) {
        const name = `${fileOf(plural, apiVersion)}${from === 0 ? '' : `-${from / maxInFile + 1}`}.json`;
        writeList(join(folder, name), items.slice(from, from + maxInFile));
        files.push(name);
      }
    }
    const about = { kind: 'DrydockSnapshot', snapshotTime: snapshotTime.toString(), leftOut };
    writeFileSync(join(folder, aboutFile), `${JSON.stringify(about, undefined, 2)}\n`, {
      mode: 0o600,
    });
    return [...files, aboutFile];
  } catch (error) {
    throw new SnapshotError(`cannot write to ${folder}: ${errorText(error)}`, { cause: error });
  }
}

function parsed(folder: string, name: string): JsonObject {
  try {
    const value: unknown = JSON.parse(readFileSync(join(folder, name), 'utf8'));
    if (isObject(value)) return value;
  } catch (error) {
    throw new SnapshotError(`${join(folder, name)} cannot be read: ${errorText(error)}`, {
      cause: error,
    });
  }
  throw new SnapshotError(`${join(folder, name)} holds no object of Kubernetes`);
}

function itemsOf(value: JsonObject, shared: Shared): readonly JsonObject[] {
  if (!Array.isArray(value['items'])) return [value];
  // The items of a PodList do not contain their kind; those of a List do.
  const own = text(value, 'kind').replace(/List$/, '');
  const given = own === '' ? {} : { apiVersion: value['apiVersion'], kind: own };
  return (value['items'] as readonly Json[])
    .filter(isObject)
    .map(item => shared.of(redacted({ ...given, ...item })));
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter(name => name.endsWith('.json'))
      .sort();
  } catch (error) {
    throw new SnapshotError(`there is no snapshot in ${folder}: ${errorText(error)}`, {
      cause: error,
    });
  }
}

/** Returns the latest time in the objects: a copy is taken right after it. */
function lastSeen(objects: readonly JsonObject[]): Temporal.Instant | undefined {
  let last: Temporal.Instant | undefined;
  const see = (written: unknown): void => {
    const time = readTime(written);
    if (time !== undefined && (last === undefined || Temporal.Instant.compare(time, last) > 0))
      last = time;
  };
  for (const object of objects) {
    see((object['metadata'] as JsonObject)['creationTimestamp']);
    see(object['lastTimestamp']);
    const status = object['status'];
    if (!isObject(status) || !Array.isArray(status['conditions'])) continue;
    for (const one of status['conditions'] as readonly Json[]) {
      if (isObject(one))
        for (const field of ['lastHeartbeatTime', 'lastTransitionTime']) see(one[field]);
    }
  }
  return last;
}

/**
 * Reads a folder that `writeCopy` or `kubectl get -o json` has written: Lists or single objects, of
 * one kind or of several, in one file or in many. Throws a SnapshotError that names the file.
 */
export function readCopy(folder: string): ClusterSnapshot {
  const objects: JsonObject[] = [];
  const shared = new Shared();
  let about: JsonObject = {};
  for (const name of namesIn(folder)) {
    const value = parsed(folder, name);
    if (value['kind'] === 'DrydockSnapshot') about = value;
    else for (const item of itemsOf(value, shared)) objects.push(item);
  }
  const strange = objects.find(
    one => typeof one['kind'] !== 'string' || !isObject(one['metadata']),
  );
  if (strange !== undefined)
    throw new SnapshotError(`${folder} holds something that is no object of Kubernetes`);
  if (!objects.some(one => one['kind'] === 'Node'))
    throw new SnapshotError(`${folder} holds no nodes: drydock snapshot ${folder}`);
  const snapshotTime =
    readTime(about['snapshotTime']) ??
    lastSeen(objects) ??
    Temporal.Instant.fromEpochMilliseconds(0);
  const leftOut = Array.isArray(about['leftOut'])
    ? (about['leftOut'] as readonly Json[]).map(String)
    : [];
  return { snapshotTime, objects, leftOut };
}

/** Limit of objects in one call. */
const pageSize = 500;

type Listed =
  | { readonly kind: 'listed'; readonly objects: readonly JsonObject[] }
  | { readonly kind: 'refused'; readonly response: ApiResponse };

async function list(api: Api, copied: CopiedKind, shared: Shared): Promise<Listed> {
  const { apiVersion, kind } = copied;
  const objects: JsonObject[] = [];
  for await (const page of listPages(api, { path: pathOfKind(copied) }, () => pageSize)) {
    if (page.kind === 'refused') return { kind: 'refused', response: page.response };
    for (const item of page.items as readonly JsonObject[])
      objects.push(shared.of(redacted({ apiVersion, kind, ...item })));
  }
  return { kind: 'listed', objects };
}

type TakeOptions = {
  readonly api: Api;
  readonly now: () => Temporal.Instant;
  /** Callback for every kind that has been read. */
  readonly onProgress?: (plural: string, count: number) => void;
};

/**
 * Reads what a rehearsal needs, by lists only, page by page. Forbidden and unserved kinds are left
 * out, and forbidden ones are named. Throws an error with the server's message when nodes or pods
 * cannot be read, or a list fails otherwise.
 */
export async function takeCopy({
  api,
  now,
  onProgress = () => {},
}: TakeOptions): Promise<ClusterSnapshot> {
  const snapshotTime = now();
  const objects: JsonObject[] = [];
  const leftOut: string[] = [];
  const shared = new Shared();
  for (const copied of copiedKinds) {
    const listed = await list(api, copied, shared);
    if (listed.kind === 'listed') {
      for (const one of listed.objects) objects.push(one);
      onProgress(copied.plural, listed.objects.length);
      continue;
    }
    const { status } = listed.response;
    if (status === 404 && copied.needed !== true) continue;
    if (status !== 403 || copied.needed === true)
      throw new Error(`cannot read ${copied.plural}: ${statusMessage(listed.response)}`);
    leftOut.push(`${copied.plural}: ${statusMessage(listed.response)}`);
  }
  return { snapshotTime, objects, leftOut };
}
