import type { Clock } from '@drydock/utils';
import type { User } from './access/asked.ts';
import { firstRoles } from './access/first-roles.ts';
import { callOverHttps } from './admission/call.ts';
import { respond } from './admission/respond.ts';
import type { CallWebhook } from './admission/review.ts';
import { Feeds } from './api/feeds.ts';
import { handle } from './api/handler.ts';
import type { ApiRequest, Response } from './api/message.ts';
import { withObject } from './api/protobuf-body.ts';
import type { Server } from './api/server.ts';
import { definitions } from './crd/definitions.ts';
import { followDefinitions } from './crd/establish.ts';
import { callExtensions, type Extension, extensionAt } from './extension.ts';
import { builtInKinds, definitionKind } from './kinds/built-in.ts';
import { indexes } from './kinds/kind.ts';
import { KindTable } from './kinds/kind-table.ts';
import type { RegistryContext } from './registry/context.ts';
import { create } from './registry/create.ts';
import { MemoryStore } from './store/memory-store.ts';

export type ClusterOptions = {
  readonly clock: Clock;
  /**
   * Random source, uniform in [0, 1), for UIDs and generated names. The same numbers make the same
   * cluster.
   */
  readonly random: () => number;
  /**
   * Limit of a resource's changes that are kept for watches and for later pages of lists; 20,000
   * when left out.
   */
  readonly historyLimit?: number;
  /** Client for validating webhooks; over HTTPS when left out. */
  readonly callWebhook?: CallWebhook;
  /** API servers behind the cluster's own. */
  readonly extensions?: readonly Extension[];
};

/** A cluster in memory: its objects, and their API. Without actors, nothing changes on its own. */
export type EmbeddedCluster = Server & {
  /**
   * Handles one request as kube-apiserver does, synchronously: calls no webhook, so it is for
   * reads.
   */
  answer(request: ApiRequest): Response;
  /**
   * Handles one request as kube-apiserver does. The user may do everything; webhooks receive the
   * name.
   */
  respond(request: ApiRequest, user?: User): Promise<Response>;
};

/** User for callers in the same process. */
const inside: User = { name: 'system:admin', groups: ['system:masters', 'system:authenticated'] };

/** Objects that every API server creates at its start. */
const firstObjects = [
  ...['kube-system', 'kube-public', 'kube-node-lease', 'default'].map(
    name => ['namespaces', { metadata: { name } }] as const,
  ),
  ...(
    [
      [
        'system-node-critical',
        2_000_001_000,
        'Used for system critical pods that must not be moved from their current node.',
      ],
      [
        'system-cluster-critical',
        2_000_000_000,
        'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
      ],
    ] as const
  ).map(
    ([name, value, description]) =>
      ['priorityclasses.scheduling.k8s.io', { metadata: { name }, value, description }] as const,
  ),
  ...firstRoles,
] as const;

/** Creates an empty cluster with the namespaces and priority classes that every cluster has. */
export function createCluster(options: ClusterOptions): EmbeddedCluster {
  const { clock, random, historyLimit, callWebhook = callOverHttps, extensions = [] } = options;
  const store = new MemoryStore({
    indexes,
    ...(historyLimit === undefined ? {} : { historyLimit }),
  });
  const kinds = new KindTable([...builtInKinds, definitionKind(definitions)]);
  const registry: RegistryContext = { store, kinds, clock, random };
  followDefinitions(registry);
  for (const [resource, object] of firstObjects) {
    const outcome = create(registry, kinds.of(resource), object, '');
    if (outcome.kind === 'refused')
      throw new Error(`a new cluster cannot have a ${resource}: ${outcome.failure.message}`);
  }
  const server: Server = { registry, feeds: new Feeds(store), clock };
  const call = callExtensions(registry, extensions, callWebhook);
  const passedOn = (request: ApiRequest): Response | undefined =>
    extensionAt(extensions, request.path)?.answer(registry, request);
  return {
    ...server,
    answer: request => passedOn(request) ?? handle(server, withObject(request, kinds)),
    respond: async (request, user = inside) =>
      passedOn(request) ?? respond(server, withObject(request, kinds), { call, user }),
  };
}
