import { readFileSync } from 'node:fs';
import type { JsonObject } from '@drydock/apimachinery';
import { maintenance } from '@drydock/apis';
import { type Faults, inProcess, seeded, withFaults } from '@drydock/kube-sim';
import { bench } from '@drydock/kube-sim/testing';
import { PanicHandler, silentLog } from '@drydock/utils';
import { parse } from 'yaml';
import { NodeReconciler } from '../node/node-reconciler.ts';
import { noMeter } from '../ports.ts';

const ready = {
  type: 'Ready',
  status: 'True',
  reason: 'KubeletReady',
  message: '',
  lastHeartbeatTime: null,
  lastTransitionTime: null,
};
const crd = parse(
  readFileSync(
    new URL('../../../../deploy/crds/maintenances.drydock.dev.yaml', import.meta.url),
    'utf8',
  ),
) as JsonObject;

type DrillOptions = {
  readonly seed: number;
  readonly nodes: readonly string[];
  readonly faults?: Faults;
};

function node(name: string): JsonObject {
  return {
    metadata: { name, labels: { 'kubernetes.io/hostname': name } },
    status: { allocatable: { cpu: '64', memory: '256Gi', pods: '110' }, conditions: [ready] },
  };
}

/**
 * The operator itself on an embedded cluster that lives, in simulated time: what takes minutes is
 * over in a moment, and always the same.
 */
export function drill({
  seed,
  nodes,
  faults = { refused: 0, lost: 0, unanswered: 0 },
}: DrillOptions) {
  const { cluster, clock, store, writes, make, runtime } = bench(
    { pace: { startMs: 3000, stopMs: 5000, spread: 0.3 } },
    seed,
  );
  make('customresourcedefinitions.apiextensions.k8s.io', crd);
  make('namespaces', { metadata: { name: 'medik8s-leases' } });
  for (const name of nodes) make('nodes', node(name));
  const ports = inProcess(cluster, { userAgent: 'drydock' });
  const operator = new NodeReconciler({
    api: withFaults(ports, faults, seeded(seed + 1), clock),
    watcher: ports,
    recorder: { record: () => {} },
    meter: noMeter,
    fence: { mayAct: () => true },
    clock,
    log: silentLog,
    defects: new PanicHandler({ log: silentLog }),
    adapters: [maintenance('medik8s-leases')],
    terms: { durationSeconds: 3600, renewEverySeconds: 900 },
  });
  const stop = new AbortController();
  const running = operator.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await clock.advance(5000);
    await running;
    runtime.stop();
  };
  return { clock, store, writes, make, end };
}

/** A workload in the namespace `shop`. */
export function shop(kind: string, name: string, spec: JsonObject): JsonObject {
  return {
    kind,
    metadata: { name, namespace: 'shop' },
    spec: {
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: 'main', image: 'example.test/none:1' }] },
      },
      ...spec,
    },
  };
}

/** A budget over the pods of the workload of its name. */
export function budget(name: string, spec: JsonObject): JsonObject {
  return {
    metadata: { name, namespace: 'shop' },
    spec: { ...spec, selector: { matchLabels: { app: name } } },
  };
}
