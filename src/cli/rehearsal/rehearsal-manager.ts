import { parse } from 'yaml';
import { crdTexts, defaultGroups } from '../../apis/crds.ts';
import { leaseNamespaces } from '../../apis/lease-namespaces.ts';
import { served } from '../../apis/served.ts';
import type { JsonObject } from '../../core/json.ts';
import type { KindAdapter } from '../../core/request/request.ts';
import { everyNamespace } from '../../operator/cache/namespaces.ts';
import { noMeter } from '../../operator/ports.ts';
import type { SandboxOptions } from '../../rehearse/simulate/sandbox.ts';
import { type Log, silentLog } from '../../support/log.ts';
import { PanicHandler } from '../../support/panic-handler.ts';
import { controllerManager } from '../manager/controller-manager.ts';

/** Durations of leases: the defaults of the operator's flags. */
const terms = { durationSeconds: 3600, renewEverySeconds: 900 };

const operate =
  (adapters: readonly KindAdapter[], log: Log): SandboxOptions['operate'] =>
  ({ ports, clock, own }, signal) => {
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
      ...(own && { ownNode: own.node, self: { ...own, handOver: () => {}, handedOver: () => true } }),
      haltLease: { namespace: 'drydock-system', name: 'drydock' },
      machines: {
        limits: { perSet: 1, perZone: 0, nodes: 1 },
        drainLeadSeconds: 1800,
        namespace: 'drydock',
        // A copy does not contain the operator's namespace.
        watchNamespaces: [everyNamespace],
        // Clouds are not queried: the copy contains all events.
        scanner: { scan: async source => ({ source: source.name, looked: new Set(), events: [], unknown: [] }) },
      },
    }).run(signal);
  };

/**
 * Returns the operator as `drydock operator` builds it, for rehearsals. Calls `defect` for
 * failures.
 */
export const rehearsalManager = (
  env: Readonly<Record<string, string | undefined>>,
  defect: (message: string) => void,
): Pick<SandboxOptions, 'operate' | 'definitions' | 'adapters'> => {
  const adapters = served(leaseNamespaces(env));
  const groups = new Set([...defaultGroups, ...adapters.map(({ apiVersion }) => apiVersion.split('/')[0] ?? '')]);
  const error: Log['error'] = (message, about) => defect(`${message} ${JSON.stringify(about?.['node'] ?? '')}`);
  return {
    adapters,
    definitions: crdTexts([...groups]).map(text => parse(text) as JsonObject),
    operate: operate(adapters, { ...silentLog, error }),
  };
};
