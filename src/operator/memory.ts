import { readNode } from '../core/hold/node.ts';
import { readLease } from '../core/lease/lease.ts';
import type { Write } from '../core/phase/decision.ts';
import type { Dialect } from '../core/request/request.ts';
import type { World } from './world.ts';

/** Takes over what the server answers to our own writes, so that the next look sees it at once. */
export interface Memory {
  /** `body` is the object as it is stored now; undefined when the write found it gone. */
  learn(write: Write, body: unknown): void;
}

const forgetLease = ({ path }: Write, world: World): void => {
  const [, namespace, name] = /\/namespaces\/([^/]+)\/leases\/([^/]+)$/.exec(path) ?? [];
  if (namespace !== undefined && name !== undefined) world.leases.forget(`${decodeURIComponent(namespace)}/${decodeURIComponent(name)}`);
};

/** For what is written about nodes and their maintenances. A deleted object may live on until its finalizers are gone: the watch tells. */
export const memoryOf = (world: World, dialects: readonly Dialect[]): Memory => ({
  learn: (write, body) => {
    if (write.method === 'DELETE') return write.store === 'leases' ? forgetLease(write, world) : undefined;
    if (write.store === 'nodes') return world.observeNode(readNode(body));
    if (write.store === 'leases') return world.leases.observe(readLease(body));
    if (write.store !== 'requests') return undefined;
    const request = dialects.find(({ name }) => name === write.dialect)?.read(body);
    if (request !== undefined && typeof request !== 'string') world.observeRequest(request);
    return undefined;
  },
});
