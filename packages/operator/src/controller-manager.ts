import { machineAdapter, planAdapter } from '@drydock/apis';
import type { MigrationLimits } from '@drydock/core/hypervisor';
import type { MachineEvent } from '@drydock/core/machine';
import type { Nova, NovaMeter } from '@drydock/openstack';
import { HypervisorReconciler } from '@drydock/openstack';
import type { ClusterCache } from './cache/cluster-cache.ts';
import { namespacesOf } from './cache/node-cache.ts';
import {
  type IngestResult,
  MachineManager,
  type MachineManagerOptions,
} from './machines/machine-manager.ts';
import { NodeReconciler, type NodeReconcilerOptions } from './node/node-reconciler.ts';
import { countedByState, NodeSilencer } from './node/node-states.ts';
import { planWorkOn } from './plans/own-writes.ts';
import { PlanReconciler, type PlanReconcilerOptions } from './plans/plan-reconciler.ts';
import type { AlertSilencer, Monitoring, Overview } from './ports.ts';
import { scanner, signals } from './scanner.ts';

/** The OpenStack whose hypervisors the nodes are, with limits. */
export type OpenStackTerms = { readonly nova: Nova; readonly limits: Partial<MigrationLimits> };

/** Options of the machine controllers. */
export type MachineTerms = Pick<
  MachineManagerOptions,
  'limits' | 'drainLeadSeconds' | 'namespace'
> &
  Partial<Pick<MachineManagerOptions, 'scanner'>> & {
    /**
     * Namespaces beyond `namespace` whose objects count: MachineMaintenances, and the one older
     * kind that may be namespaced.
     */
    readonly watchNamespaces?: readonly string[];
    /** Region of machines whose providerIDs lack it, where the cluster does not name it either. */
    readonly region?: string | undefined;
    /** EC2 endpoints outside Amazon's domains that sources may name. */
    readonly awsEndpoints?: readonly string[];
  };

type ControllerManagerOptions = Omit<
  NodeReconcilerOptions,
  'readWindow' | 'decide' | 'scope' | 'hypervisors'
> & {
  readonly machines: MachineTerms;
  /** Lease whose annotation stops all plans. */
  readonly haltLease: PlanReconcilerOptions['haltLease'];
  /** Generator for the random part of pod names, for reproducible runs. */
  readonly nonce?: () => string;
  /** Node that this process runs on. */
  readonly ownNode?: string;
  /** `namespace/name` of the pod that this process runs in. */
  readonly ownPod?: string;
  readonly openStack?: OpenStackTerms | undefined;
  readonly novaMeter?: NovaMeter;
  /** Source of metrics and alerts for gates of plans. */
  readonly monitoring?: (Monitoring & AlertSilencer) | undefined;
};

/**
 * All controllers of Drydock: the reconciler of nodes and that of machines, over a common state.
 */
export type ControllerManager = {
  run(signal: AbortSignal): Promise<void>;
  overview(): Overview;
  /** Accepts pushed events about machines. */
  receive(events: readonly MachineEvent[]): Promise<IngestResult>;
};

/**
 * Returns nodes that are out of service or are about to be; undefined until the cache has synced.
 */
function heldNodes({ unsynced, nodes, requests }: ClusterCache): ReadonlySet<string> | undefined {
  if (unsynced.length > 0) return undefined;
  const held = [...nodes.values()]
    .filter(({ holdRecord }) => holdRecord !== undefined)
    .map(({ name }) => name);
  const wanted = [...requests.values()]
    .filter(({ deleting }) => !deleting)
    .map(({ nodeName }) => nodeName);
  return new Set([...held, ...wanted]);
}

/**
 * Returns the reconciler that empties nodes which are hypervisors; reads the operator's cache,
 * which exists by the time it runs.
 */
function createHypervisorReconciler(
  { nova, limits }: OpenStackTerms,
  { clock, log, defects, fence, novaMeter }: ControllerManagerOptions,
  operator: () => NodeReconciler,
): HypervisorReconciler {
  return new HypervisorReconciler({
    nova,
    limits,
    clock,
    log,
    defects,
    fence,
    ...(novaMeter && { meter: novaMeter }),
    touched: nodeName => operator().enqueue(nodeName),
    held: () => heldNodes(operator().cache),
    nodes: () => [...operator().cache.nodes.values()],
  });
}

/**
 * Namespace of the pods of plans: separate, because their privileges must not apply next to the
 * operator.
 */
export const workNamespace = 'drydock-plans';

function overviewOf(
  operator: NodeReconciler,
  manager: MachineManager,
  plans: PlanReconciler,
): Overview {
  const { maintenances, unsynced, withheld, ...rest } = operator.overview();
  const ofPlans = plans.overview();
  const phases = ofPlans.planPhases.map(({ phase }) => ['MaintenancePlan', phase] as const);
  return {
    ...rest,
    maintenances: [...maintenances, ...countedByState([...manager.states(), ...phases])],
    ...ofPlans,
    unsynced: [...unsynced, ...manager.unsynced, ...plans.plans.unsynced],
    withheld: [...new Set([...withheld, ...manager.withheld, ...plans.plans.withheld])].sort(),
  };
}

/** Builds the controller manager. */
export function controllerManager(all: ControllerManagerOptions): ControllerManager {
  const { machines, openStack, novaMeter: _meter, haltLease, ...options } = all;
  const injector = openStack && createHypervisorReconciler(openStack, all, () => operator);
  const namespaces = namespacesOf(machines.namespace, machines.watchNamespaces ?? []);
  const operator: NodeReconciler = new NodeReconciler({
    ...options,
    namespaces,
    readWindow: machineAdapter.readWindow,
    planWork: nodeName => planWorkOn(plans.plans, nodeName),
    ...(injector && { hypervisors: injector }),
  });
  const { api, clock, defects, monitoring, fence } = options;
  const manager = new MachineManager({
    scanner: scanner({ api, clock, defects, ...machines }),
    ...options,
    ...machines,
    namespaces,
    cache: operator.cache,
    adapter: machineAdapter,
    signals,
    changed: () => plans.enqueueAll(),
  });
  const plans: PlanReconciler = new PlanReconciler({
    ...options,
    touched: nodeName => operator.enqueue(nodeName),
    cache: operator.cache,
    machines: manager.forPlans,
    adapter: planAdapter,
    workNamespace,
    haltLease,
  });
  const silencer =
    monitoring &&
    new NodeSilencer({ cache: operator.cache, silencer: monitoring, fence, clock, defects });
  return {
    run: async signal => {
      await Promise.all([
        operator.run(signal),
        manager.run(signal),
        plans.run(signal),
        injector?.run(signal),
        silencer?.run(signal),
      ]);
    },
    receive: events => manager.receive(events),
    overview: () => overviewOf(operator, manager, plans),
  };
}

const nothingYet: Overview = {
  maintenances: [],
  heldNodes: 0,
  blockers: [],
  vms: [],
  planPhases: [],
  planNodes: [],
  planDeadlines: [],
  evictionsUnderWay: 0,
  queueDepth: 0,
  unsynced: ['everything'],
  withheld: [],
};

/** Holder of the running controller manager, if this replica leads. */
export class ActiveManager {
  #controllerManager: ControllerManager | undefined;

  get acts(): boolean {
    return this.#controllerManager !== undefined;
  }

  overview(): Overview {
    return this.#controllerManager?.overview() ?? nothingYet;
  }

  async receive(events: readonly MachineEvent[]): Promise<IngestResult> {
    return (
      this.#controllerManager?.receive(events) ?? {
        later: 'another replica leads: send it to the Service again',
      }
    );
  }

  /** Runs the controller manager until the signal is aborted. */
  async serve(controllerManager: ControllerManager, signal: AbortSignal): Promise<void> {
    this.#controllerManager = controllerManager;
    try {
      await controllerManager.run(signal);
    } finally {
      this.#controllerManager = undefined;
    }
  }
}
