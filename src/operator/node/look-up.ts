import type { Lookup } from '../../core/maintenance/decision.ts';
import { isMissing } from '../../core/status.ts';
import type { Log } from '../../support/log.ts';
import type { KnownWindows } from '../cache/known-windows.ts';
import type { Api, ApiResponse } from '../ports.ts';

/** What does not change any more, once it has been found. */
export class LookedUp {
  /** Volume by claim (`namespace/name`): a bound claim stays bound to its volume. null: there is no such claim, or it is not bound. */
  readonly volumes = new Map<string, string | null>();
  /** uids of DaemonSets that pods name and that are gone: no other one will ever have them. */
  readonly goneDaemonSets = new Set<string>();
}

/** What is asked about one object. */
type ObjectLookup = Exclude<Lookup, { readonly kind: 'MaintenanceWindows' }>;

const pathOf = ({ kind, key }: ObjectLookup): string => {
  const [namespace = '', name = ''] = key.split('/').map(encodeURIComponent);
  const [api, resource] = kind === 'DaemonSet' ? ['/apis/apps/v1', 'daemonsets'] : ['/api/v1', 'persistentvolumeclaims'];
  return `${api}/namespaces/${namespace}/${resource}/${name}`;
};

/** Notes what was found. Answers whether that is the end of it: of a DaemonSet that exists the watch will tell. */
const note = (lookup: ObjectLookup, found: ApiResponse, { volumes, goneDaemonSets }: LookedUp): boolean => {
  if (lookup.kind === 'DaemonSet') {
    if (found.status !== 404) return false;
    goneDaemonSets.add(lookup.uid);
    return true;
  }
  const { spec } = found.body as { readonly spec?: { readonly volumeName?: string } };
  volumes.set(lookup.key, (found.status === 200 && spec?.volumeName) || null);
  return true;
};

type Sources = { readonly api: Api; readonly log: Log; readonly lookedUp: LookedUp; readonly knownWindows: KnownWindows };

const lookUpObject = async ({ api, log, lookedUp }: Sources, lookup: ObjectLookup): Promise<boolean> => {
  const { kind, key } = lookup;
  try {
    const found = await api.call({ method: 'GET', path: pathOf(lookup), priority: 'vital', timeoutMs: 10_000 });
    if (found.status === 200 || isMissing(key.split('/')[1] ?? '', found)) return note(lookup, found, lookedUp);
    log.warn('failed to look up an object', { kind, key, status: found.status });
  } catch (error) {
    log.warn('failed to look up an object', { kind, key, error });
  }
  return false;
};

/** Asks the API server, one after the other. Answers whether anything new is known. Never rejects. */
export const lookUp = async (sources: Sources, lookups: readonly Lookup[]): Promise<boolean> => {
  let isNew = false;
  for (const lookup of lookups) {
    const isFound = lookup.kind === 'MaintenanceWindows' ? sources.knownWindows.find(lookup) : lookUpObject(sources, lookup);
    isNew = (await isFound) || isNew;
  }
  return isNew;
};
