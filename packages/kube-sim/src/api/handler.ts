import { methodNotAllowed, noSuchResource } from '../failure.ts';
import { collection } from './collection.ts';
import { discovery } from './discovery.ts';
import { type ApiRequest, failed, type Response } from './message.ts';
import { object } from './object-verbs.ts';
import { routeOf } from './route.ts';
import type { Server } from './server.ts';
import { subresource } from './subresources.ts';

/** Handles one request, as kube-apiserver does. Never throws for any input of a client. */
export function handle(server: Server, request: ApiRequest): Response {
  const route = routeOf(request.path, server.registry.kinds);
  switch (route.kind) {
    case 'other':
      return discovery(server, request);
    case 'nothing':
      return failed(noSuchResource());
    case 'collection':
      return collection(server, request, route.of, route.namespace) ?? failed(methodNotAllowed());
    case 'object': {
      const answered =
        route.subresource === ''
          ? object(server, request, route)
          : subresource(server, request, route);
      return answered ?? failed(methodNotAllowed());
    }
    default:
      return route satisfies never;
  }
}
