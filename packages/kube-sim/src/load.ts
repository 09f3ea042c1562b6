import { isObject, type JsonObject } from '@drydock/apimachinery';
import type { Api, ApiCall, ApiResponse } from '@drydock/kube-client';
import type { Clock } from '@drydock/utils';
import { type Failure, unnamed } from './failure.ts';
import type { Kind } from './kinds/kind.ts';
import { metaOf, type Stored, text, withMeta } from './object.ts';
import { newUid, type RegistryContext } from './registry/metadata.ts';

/** An object that could not be loaded, with the reason. */
export type LoadFailure = { readonly what: string; readonly why: string };

function groupOf(apiVersion: string): readonly [group: string, version: string] {
  const [first = '', second] = apiVersion.split('/');
  return second === undefined ? ['', first] : [first, second];
}

/** Returns an object that keeps its UID, age, status and generation of the original cluster. */
function kept(kind: Kind, object: JsonObject, registry: RegistryContext): Stored | string {
  const read = kind.read(object);
  if (read.kind === 'unreadable') return read.message;
  const metadata = metaOf(read.object);
  if (text(metadata, 'name') === '') return 'it has no name';
  if (kind.namespaced && text(metadata, 'namespace') === '') return 'it has no namespace';
  return withMeta(read.object, {
    uid: text(metadata, 'uid') || newUid(registry.random),
    creationTimestamp:
      text(metadata, 'creationTimestamp') ||
      registry.clock.now().toString({ smallestUnit: 'second' }),
    managedFields: undefined,
  }) as Stored;
}

/**
 * Loads objects into a cluster unchanged, as `kubectl get -o json` returns them: for rehearsals on
 * a copy of a real cluster, and for demos. Parses them into their types, without admission,
 * defaulting or validation, which a real API server has already done. Creates missing namespaces.
 * Returns the objects that could not be loaded.
 */
export function load(
  registry: RegistryContext,
  given: Iterable<{ readonly [key: string]: unknown }>,
): readonly LoadFailure[] {
  const unloaded: LoadFailure[] = [];
  for (const object of given) {
    if (!isObject(object)) continue;
    const [group, version] = groupOf(text(object, 'apiVersion'));
    const kind =
      registry.kinds.named(group, text(object, 'kind'), version) ??
      registry.kinds.named(group, text(object, 'kind'));
    const what = `${text(object, 'kind')} ${text(object, 'metadata', 'namespace')}/${text(object, 'metadata', 'name')}`;
    if (kind === undefined) {
      unloaded.push({ what, why: 'its kind is not served' });
      continue;
    }
    const read = kept(kind, object, registry);
    if (typeof read === 'string') unloaded.push({ what, why: read });
    else {
      needNamespace(registry, read.metadata.namespace);
      registry.store.put(kind.resource, read);
    }
  }
  return unloaded;
}

function needNamespace(registry: RegistryContext, name: string | undefined): void {
  if (name === undefined || registry.store.get('namespaces', '', name) !== undefined) return;
  registry.store.put('namespaces', {
    metadata: {
      name,
      uid: newUid(registry.random),
      creationTimestamp: registry.clock.now().toString({ smallestUnit: 'second' }),
      labels: { 'kubernetes.io/metadata.name': name },
      resourceVersion: '',
    },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  });
}

/** Rates of failing calls; each is a share of all calls, between 0 and 1. */
export type Faults = {
  /** Rate of 429 with Retry-After, 500, 503 or 504, without an effect. */
  readonly refused: number;
  /** Rate of connections that break before the server has the call. */
  readonly lost: number;
  /** Rate of connections that break after the server has executed the call. */
  readonly unanswered: number;
};

/** A call without a response, as on a broken connection. */
class Broken extends Error {
  override readonly name = 'ConnectionError';
  readonly mayHaveHappened: boolean;

  constructor({ method, path }: ApiCall, mayHaveHappened: boolean) {
    super(`${method} ${path}: the connection broke`);
    this.mayHaveHappened = mayHaveHappened;
  }
}

const refusals: readonly (readonly [code: number, why: string])[] = [
  [429, 'too many requests'],
  [500, 'etcdserver: request timed out'],
  [503, 'the server is currently unable to handle the request'],
  [504, 'the server was unable to return a response in the time allotted'],
];

function answerWith(failure: Failure): ApiResponse {
  return {
    status: failure.code,
    headers: {
      'content-type': 'application/json',
      ...(failure.code === 429 && { 'retry-after': '1' }),
    },
    body: failure,
  };
}

/** Wraps an API so that calls fail at random: the same numbers cause the same failures. */
export function withFaults(
  api: Api,
  faults: Faults,
  random: () => number,
  clock: Pick<Clock, 'sleep'>,
): Api {
  return {
    call: async (call, signal) => {
      const behavior = random();
      const { refused, lost, unanswered } = faults;
      if (behavior < refused) {
        const [code, why] = refusals[Math.floor(random() * refusals.length)] ?? [500, ''];
        return answerWith(unnamed(code, why));
      }
      if (behavior < refused + lost) {
        await clock.sleep(random() * 1000, signal);
        throw new Broken(call, false);
      }
      const answer = await api.call(call, signal);
      if (behavior >= refused + lost + unanswered) return answer;
      await clock.sleep(random() * 1000, signal);
      throw new Broken(call, true);
    },
  };
}
