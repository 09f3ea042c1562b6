import { text } from '../object.ts';
import type { RegistryContext } from '../registry/context.ts';
import { create } from '../registry/create.ts';
import { remove } from '../registry/delete.ts';
import type { Refused, WriteResult } from '../registry/outcome.ts';
import { replace } from '../registry/update.ts';
import type { Writes, Written } from './controller.ts';

function refused({ failure }: Refused): Written {
  return {
    kind: 'refused',
    code: failure.code,
    reason: failure.reason ?? '',
    message: failure.message,
  };
}

function written(outcome: WriteResult): Written {
  return outcome.kind === 'done' ? { kind: 'stored', object: outcome.object } : refused(outcome);
}

/**
 * Returns the registry's writes for controllers: the same checks as for all clients, without a path
 * or a body in between.
 */
export function writesOn(registry: RegistryContext): Writes {
  return {
    create: (resource, draft) =>
      written(
        create(registry, registry.kinds.of(resource), draft, text(draft, 'metadata', 'namespace')),
      ),
    update: (resource, object, part) => {
      const [namespace, name] = [
        text(object, 'metadata', 'namespace'),
        text(object, 'metadata', 'name'),
      ];
      const options = part === undefined ? {} : { subresource: part };
      return written(
        replace(registry, registry.kinds.of(resource), namespace, name, object, options),
      );
    },
    remove: (resource, namespace, name, { gracePeriodSeconds, uid, propagationPolicy } = {}) => {
      const deletion = remove(registry, registry.kinds.of(resource), namespace, name, {
        ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
        ...(uid !== undefined && { preconditions: { uid } }),
        ...(propagationPolicy !== undefined && { propagationPolicy }),
      });
      return deletion.kind === 'done'
        ? { kind: 'stored', object: deletion.object }
        : refused(deletion);
    },
  };
}
