import { hostname, networkInterfaces } from 'node:os';
import type { NodeIdentity } from '@drydock/core/hypervisor';
import { beforeAnnotation } from '@drydock/core/node';
import type { CachedObject, Collection, Watcher } from '@drydock/kube-client';

/** A node with the fields that the daemon of its hypervisor reads. */
export type OwnNode = CachedObject &
  NodeIdentity & {
    /** Whether the node is cordoned, or held by Drydock. */
    readonly isHeld: boolean;
  };

/** Returns the names and addresses under which this machine may be a node. */
function ownNames(): ReadonlySet<string> {
  return new Set([
    hostname(),
    hostname().split('.', 1)[0] ?? '',
    ...Object.values(networkInterfaces()).flatMap(addresses =>
      (addresses ?? []).flatMap(({ address, internal }) => (internal ? [] : [address])),
    ),
  ]);
}

type RawNode = {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly unschedulable?: boolean; readonly providerID?: string };
};

/** Reads a Node that has one of these names; returns undefined for others. */
function readOwnNode(raw: unknown, names: ReadonlySet<string>): OwnNode | undefined {
  const { metadata, spec = {} } = raw as RawNode;
  const { name, uid, resourceVersion } = metadata;
  if (!names.has(name)) return undefined;
  const { annotations = {}, labels = {} } = metadata;
  const { providerID: providerId, unschedulable } = spec;
  return {
    key: name,
    name,
    uid,
    resourceVersion,
    annotations,
    labels,
    ...(providerId !== undefined && { providerId }),
    isHeld: unschedulable === true || annotations[beforeAnnotation] !== undefined,
  };
}

/**
 * Follows the node with that name (or, without one, those that this machine may be) until the
 * signal is aborted, through all failures.
 */
export function followOwnNode(
  watcher: Watcher,
  nodeName: string | undefined,
  tell: {
    readonly seen: (node: OwnNode) => void;
    readonly gone: (name: string) => void;
    readonly synced: () => void;
  },
  signal: AbortSignal,
): Promise<void> {
  const names = nodeName === undefined ? ownNames() : new Set([nodeName]);
  const collection: Collection = {
    path: '/api/v1/nodes',
    ...(nodeName !== undefined && { fieldSelector: `metadata.name=${nodeName}` }),
  };
  const changed = ({ type, object }: { readonly type: string; readonly object: OwnNode }): void =>
    type === 'removed' ? tell.gone(object.name) : tell.seen(object);
  return watcher.watch(
    collection,
    raw => readOwnNode(raw, names),
    { changed, synced: tell.synced },
    signal,
  );
}
