import type { JsonObject } from '@drydock/apimachinery';
import { leaseNamespaces, served } from '@drydock/apis';
import { crdTexts, defaultGroups } from '@drydock/apis/crds';
import type { KindAdapter } from '@drydock/core/request';
import { controllerManager, noMeter } from '@drydock/operator';
import { everyNamespace } from '@drydock/operator/cache';
import { type Log, PanicHandler, silentLog } from '@drydock/utils';
import { parse } from 'yaml';
import type { SandboxOptions } from './simulate/sandbox.ts';

/** Durations of leases: the defaults of the operator's flags. */
const terms = { durationSeconds: 3600, renewEverySeconds: 900 };

function operate(adapters: readonly KindAdapter[], log: Log): SandboxOptions['operate'] {
  return ({ ports, clock, own }, signal) => {
    let names = 0;
    return controllerManager({
      api: ports,
      watcher: ports,
      recorder: { record: () => {} },
      meter: noMeter,
      fence: { mayAct: () => true },
      clock,
      // All events of one moment are collected before a reconcile: one for each pod of a node would
      // take most of the time.
      soon: begin => void clock.after(0, begin),
      log,
      defects: new PanicHandler({ log }),
      adapters,
      terms,
      nonce: () => String((names += 1)),
      // No other replica leads on a copy: this one acts as the replica to which it hands over.
      ...(own && {
        ownNode: own.node,
        self: { ...own, handOver: () => {}, handedOver: () => true },
      }),
      haltLease: { namespace: 'drydock-system', name: 'drydock' },
      machines: {
        limits: { perSet: 1, perZone: 0, nodes: 1 },
        drainLeadSeconds: 1800,
        namespace: 'drydock',
        // A copy does not contain the operator's namespace.
        watchNamespaces: [everyNamespace],
        // Clouds are not queried: the copy contains all events.
        scanner: {
          scan: async source => ({
            source: source.name,
            looked: new Set(),
            events: [],
            unknown: [],
          }),
        },
      },
    }).run(signal);
  };
}

/**
 * Returns the operator as `drydock operator` builds it, for rehearsals. Calls `defect` for
 * failures.
 */
export function rehearsalManager(
  env: Readonly<Record<string, string | undefined>>,
  defect: (message: string) => void,
): Pick<SandboxOptions, 'operate' | 'definitions' | 'adapters'> {
  const adapters = served(leaseNamespaces(env));
  const groups = new Set([
    ...defaultGroups,
    ...adapters.map(({ apiVersion }) => apiVersion.split('/')[0] ?? ''),
  ]);
  const error: Log['error'] = (message, about) =>
    defect(`${message} ${JSON.stringify(about?.['node'] ?? '')}`);
  return {
    adapters,
    definitions: crdTexts([...groups]).map(text => parse(text) as JsonObject),
    operate: operate(adapters, { ...silentLog, error }),
  };
}
