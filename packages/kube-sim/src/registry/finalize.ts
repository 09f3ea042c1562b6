import { notFound } from '../failure.ts';
import { at, type Draft, part, type Stored, text } from '../object.ts';
import type { RegistryContext } from './context.ts';
import { refused, type WriteResult } from './outcome.ts';

/**
 * Replaces a namespace's finalizers in the spec: the namespace controller does so when it has
 * emptied it. Removing the last one removes a terminating namespace. Upstream: FinalizeREST of
 * pkg/registry/core/namespace/storage.
 */
export function finalize(
  registry: RegistryContext,
  name: string,
  body: Draft,
  dryRun = false,
): WriteResult {
  const before = registry.store.get('namespaces', '', name);
  if (before === undefined || text(body, 'metadata', 'name') !== name) {
    return refused(notFound({ group: '', resource: 'namespaces' }, name));
  }
  const finalizers = at(body, 'spec', 'finalizers');
  const left = Array.isArray(finalizers) ? finalizers : [];
  const spec = left.length > 0 ? { ...part(before, 'spec'), finalizers: left } : {};
  const after: Stored = { ...before, spec };
  if (dryRun) return { kind: 'done', object: after, created: false, warnings: [] };
  const isDone = left.length === 0 && before.metadata.deletionTimestamp !== undefined;
  if (!isDone || (before.metadata.finalizers ?? []).length > 0) {
    return {
      kind: 'done',
      object: registry.store.put('namespaces', after),
      created: false,
      warnings: [],
    };
  }
  registry.store.remove('namespaces', '', name);
  return { kind: 'done', object: after, created: false, warnings: [] };
}
