import type { JsonObject } from '@drydock/apimachinery';
import { type Chance, type Draw, many, maybe, pick } from './odd-values.ts';

/** Parts that odd objects of several kinds have. */

/** Makes one odd object of its kind, and says where it is stored. */
export type Maker = (
  chance: Chance,
  draw: Draw,
  index: number,
) => readonly [path: string, object: JsonObject];

/** Where odd pods and budgets are made: those of the story go on without them. */
export const oddNamespace = 'odd';

/** What every object has. */
export function metadata(
  chance: Chance,
  { time, map, word, int }: Draw,
  name: string,
  namespace?: string,
): JsonObject {
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    generation: maybe(chance, int),
    creationTimestamp: time(),
    labels: maybe(chance, map),
    annotations: maybe(chance, () => ({
      ...map(),
      'drydock.dev/before': word(),
      'drydock.dev/claim': word(),
      'drydock.dev/machine-maintenance': pick(chance, ['drydock-system/mm-0', word()]),
    })),
    ...(chance() < 0.2 && { deletionTimestamp: time(), deletionGracePeriodSeconds: int() }),
    finalizers: maybe(chance, () => many(chance, 3, word)),
    ownerReferences: maybe(chance, () =>
      many(chance, 2, () => ({
        apiVersion: word(),
        kind: pick(chance, ['DaemonSet', 'ReplicaSet', 'Job', word()]),
        name: word(),
        uid: word(),
        controller: chance() < 0.7,
      })),
    ),
  };
}

/** How a drain may be described. */
export function drain(chance: Chance, { int, selector, word }: Draw): JsonObject {
  return {
    podSelector: maybe(chance, selector),
    gracePeriodSeconds: maybe(chance, int),
    maxGracePeriodSeconds: maybe(chance, int),
    force: chance() < 0.5,
    disableEviction: chance() < 0.3,
    skipWaitForDeleteTimeoutSeconds: maybe(chance, int),
    timeoutSeconds: maybe(chance, int),
    waves: maybe(chance, () =>
      many(chance, 3, () => ({
        podSelector: selector(),
        namespaces: [word()],
        maxPriority: int(),
      })),
    ),
    ladder: maybe(chance, () =>
      many(chance, 3, () => ({
        afterSeconds: int(),
        action: pick(chance, ['KeepTrying', 'Delete', 'Fail', 'Release']),
        gracePeriodSeconds: int(),
      })),
    ),
    virtualMachines: maybe(chance, () => ({
      notMigratable: pick(chance, ['Wait', 'ShutDown', 'Refuse']),
      shutDownAfterSeconds: int(),
    })),
  };
}

/** Something that is announced about a machine. */
export function event(chance: Chance, { int, time, word }: Draw): JsonObject {
  return {
    provider: word(),
    id: `${int()}`,
    kind: pick(chance, ['reboot', 'termination', 'preemption', 'stop', 'freeze']),
    code: word(),
    state: pick(chance, ['Scheduled', 'Active', 'Completed', 'Cancelled']),
    notBefore: maybe(chance, time),
    deadline: maybe(chance, time),
    description: word(),
    source: pick(chance, ['agent/aws', 'cloud', word()]),
  };
}
