import type { JsonObject } from '@drydock/apimachinery';
import type { Kind } from '../kinds/kind.ts';
import type { Stored } from '../object.ts';
import { includedFrom } from './included.ts';
import type { ApiRequest } from './message.ts';
import { formOf, onlyMetadata, shown, tableOf } from './render.ts';
import type { Server } from './server.ts';

/** Returns one object in the form that the client requests. */
export function single(
  server: Server,
  request: ApiRequest,
  kind: Kind,
  object: Stored,
): JsonObject {
  const form = formOf(request.accept);
  if (form === 'object') return shown(kind, object);
  if (form === 'metadata') return onlyMetadata(object);
  const head = { resourceVersion: object.metadata.resourceVersion };
  return tableOf(kind, head, [object], {
    include: includedFrom(request),
    heads: true,
    now: server.clock.now(),
  });
}
