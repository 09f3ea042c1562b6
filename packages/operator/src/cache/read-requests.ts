import type { KindAdapter, MaintenanceRequest } from '@drydock/core/request';
import type { Log } from '@drydock/utils';
import { readNamed } from './named.ts';
import type { Namespaces } from './namespaces.ts';

type Options = {
  readonly log: Log;
  readonly namespaces: Namespaces | undefined;
  /** Callback for an object in a namespace where it does not count. */
  readonly foreign: (request: MaintenanceRequest) => void;
};

/**
 * Returns the reader for the objects of a kind. The reader returns undefined for invalid objects,
 * and for objects in a namespace where they do not count.
 */
export function requestReader(adapter: KindAdapter, { log, namespaces, foreign }: Options) {
  return (raw: unknown): MaintenanceRequest | undefined => {
    const request = adapter.read(raw);
    if (typeof request === 'string') {
      log.warn('ignoring invalid object', {
        kind: adapter.kind,
        name: readNamed(raw).key.split('/').at(-1),
        error: request,
      });
      return undefined;
    }
    if (request.namespace === undefined || namespaces?.counts(request.namespace) !== false)
      return request;
    foreign(request);
    return undefined;
  };
}
