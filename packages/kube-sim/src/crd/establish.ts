import { sameJson, timeText } from '@drydock/apimachinery';
import { at, objects, part, type Stored } from '../object.ts';
import type { RegistryContext } from '../registry/context.ts';
import { remove } from '../registry/delete.ts';
import { change } from '../registry/update.ts';
import type { StoreChange } from '../store/store.ts';
import { kindsOf } from './custom-kind.ts';

const resource = 'customresourcedefinitions.apiextensions.k8s.io';
const cleanup = 'customresourcecleanup.apiextensions.k8s.io';

function condition(type: string, reason: string, message: string, now: string): object {
  return {
    type,
    status: 'True',
    lastTransitionTime: now,
    reason,
    message,
  };
}

function isEstablished(definition: Stored): boolean {
  return objects(at(definition, 'status', 'conditions')).some(({ type }) => type === 'Established');
}

/**
 * Serves the kinds of a definition, and records that in its status. Upstream: the naming and
 * establishing controllers of apiextensions-apiserver.
 */
function establish(registry: RegistryContext, definition: Stored): void {
  for (const kind of kindsOf(definition)) registry.kinds.add(kind);
  if (isEstablished(definition)) return;
  const now = timeText(registry.clock.now());
  const conditions = [
    condition('NamesAccepted', 'NoConflicts', 'no conflicts found', now),
    condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted', now),
  ];
  const names = part(definition, 'spec', 'names');
  write(registry, definition, status => ({ ...status, conditions, acceptedNames: names }));
}

function write(
  registry: RegistryContext,
  { metadata }: Stored,
  edit: (status: object) => object,
): void {
  const kind = registry.kinds.of(resource);
  const outcome = change(
    registry,
    kind,
    '',
    metadata.name,
    current => ({
      kind: 'edited',
      draft: { ...current, status: { ...edit(part(current, 'status')) } },
    }),
    { subresource: 'status' },
  );
  if (outcome.kind === 'refused' && outcome.failure.code !== 404) {
    throw new Error(`the status of ${metadata.name} cannot be written: ${outcome.failure.message}`);
  }
}

/**
 * Deletes the objects of a deleted definition. Upstream: the finalizer controller of
 * apiextensions-apiserver.
 */
function clean(registry: RegistryContext, definition: Stored): void {
  for (const kind of kindsOf(definition).slice(0, 1)) {
    for (const { metadata } of registry.store.list(kind.resource))
      remove(registry, kind, metadata.namespace ?? '', metadata.name);
    // Objects with finalizers keep the definition; the next change of it checks again.
    if (registry.store.count(kind.resource) > 0) return;
  }
  change(registry, registry.kinds.of(resource), '', definition.metadata.name, current => ({
    kind: 'edited',
    draft: {
      ...current,
      metadata: {
        ...current.metadata,
        finalizers: (current.metadata.finalizers ?? []).filter(one => one !== cleanup),
      },
    },
  }));
}

/** Follows the definitions of a cluster during its whole life. */
export function followDefinitions(registry: RegistryContext): void {
  registry.store.subscribe((told: StoreChange) => {
    const { object } = told;
    if (told.type === 'removed') {
      for (const kind of kindsOf(object).slice(0, 1)) registry.kinds.drop(kind.resource);
    } else if (object.metadata.deletionTimestamp !== undefined) clean(registry, object);
    else if (told.type === 'added' || !sameJson(told.before['spec'], object['spec'])) {
      if (told.type === 'changed')
        for (const kind of kindsOf(told.before).slice(0, 1)) registry.kinds.drop(kind.resource);
      establish(registry, object);
    }
  }, resource);
  // A removed object may have been the last with a finalizer.
  registry.store.subscribe(({ type, resource: of }) => {
    if (type !== 'removed' || registry.store.count(of) > 0) return;
    for (const definition of registry.store.list(resource)) {
      const isIts = definition.metadata.name === of;
      if (isIts && definition.metadata.deletionTimestamp !== undefined) clean(registry, definition);
    }
  });
}
