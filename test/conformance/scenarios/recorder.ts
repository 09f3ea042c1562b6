import type { Api } from '../../control-plane/objects/api.ts';
import type { Thing } from './thing.ts';

/** What is followed, by the word that scenarios use. */
export const paths = {
  nodes: '/api/v1/nodes',
  namespaces: '/api/v1/namespaces',
  pods: '/api/v1/pods',
  events: '/api/v1/events',
  configmaps: '/api/v1/configmaps',
  claims: '/api/v1/persistentvolumeclaims',
  volumes: '/api/v1/persistentvolumes',
  attachments: '/apis/storage.k8s.io/v1/volumeattachments',
  deployments: '/apis/apps/v1/deployments',
  replicasets: '/apis/apps/v1/replicasets',
  statefulsets: '/apis/apps/v1/statefulsets',
  daemonsets: '/apis/apps/v1/daemonsets',
  revisions: '/apis/apps/v1/controllerrevisions',
  jobs: '/apis/batch/v1/jobs',
  budgets: '/apis/policy/v1/poddisruptionbudgets',
} as const;

export type RecordedResource = keyof typeof paths;

const watched = Object.keys(paths) as readonly RecordedResource[];

/** The life of one object (by uid) as a watch has told it. */
export type ObjectHistory = {
  readonly what: RecordedResource;
  readonly states: Thing[];
  gone: boolean;
};

/**
 * What belongs to a scenario carries its label, or is in its namespace, or is about a volume that
 * ends with its name.
 */
function scopeOf({ metadata, spec }: Thing, what: RecordedResource): string {
  if (what === 'attachments') {
    const { persistentVolumeName = '' } = (spec?.['source'] ?? {}) as {
      readonly persistentVolumeName?: string;
    };
    return `s-${persistentVolumeName.slice(persistentVolumeName.indexOf('-') + 1)}`;
  }
  if (metadata.namespace !== undefined) return metadata.namespace;
  return what === 'namespaces'
    ? metadata.name
    : `s-${metadata.labels?.['scenario'] ?? metadata.name}`;
}

/** All that has happened in one scenario, object by object in the order of their coming. */
export class Scope {
  readonly courses = new Map<string, ObjectHistory>();
  readonly #waiting = new Set<() => void>();
  lastMs = performance.now();

  tell(type: string, what: RecordedResource, thing: Thing): void {
    const course = this.courses.get(thing.metadata.uid) ?? { what, states: [], gone: false };
    this.courses.set(thing.metadata.uid, course);
    course.states.push(thing);
    course.gone = type === 'DELETED';
    this.lastMs = performance.now();
    for (const look of this.#waiting) look();
  }

  /** Objects that are there, in the order of their coming. */
  present(what: RecordedResource): readonly Thing[] {
    return [...this.courses.values()]
      .filter(one => one.what === what && !one.gone)
      .flatMap(({ states }) => states.at(-1) ?? []);
  }

  /**
   * Resolves when the look at what has been told finds something; the error says how things stood.
   */
  async until<T>(
    what: string,
    look: () => T | undefined | false,
    deadlineMs: number,
    shown: () => string,
  ): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const check = (): void => {
      const found = look();
      if (found !== undefined && found !== false) resolve(found);
    };
    const timer = setTimeout(
      () => reject(new Error(`waited ${deadlineMs} ms for ${what}; there is: ${shown()}`)),
      deadlineMs,
    );
    this.#waiting.add(check);
    try {
      check();
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(check);
    }
  }
}

/** Follows everything on one side: one watch a resource, for all scenarios together. */
export class Recorder {
  readonly #scopes = new Map<string, Scope>();
  readonly #cut = new AbortController();
  readonly #over: Promise<void>[] = [];
  failure: unknown;

  async start(api: Api): Promise<void> {
    for (const what of watched) {
      const { metadata } = await api.get<{
        readonly metadata: { readonly resourceVersion: string };
      }>(paths[what]);
      const tell = ({ type, object }: { readonly type: string; readonly object: Thing }): void =>
        this.scope(scopeOf(object, what)).tell(type, what, object);
      this.#over.push(
        api
          .watch<Thing>(paths[what], metadata.resourceVersion, tell, this.#cut.signal)
          .catch((error: unknown) => {
            this.failure = error;
          }),
      );
    }
  }

  scope(namespace: string): Scope {
    const known = this.#scopes.get(namespace) ?? new Scope();
    this.#scopes.set(namespace, known);
    return known;
  }

  async stop(): Promise<void> {
    this.#cut.abort();
    await Promise.all(this.#over);
  }
}
