import { isBefore, type JsonObject, secondsAfter } from '@drydock/apimachinery';
import type { Clock } from '@drydock/utils';

/**
 * A simulated cloud that rents machines and announces events for them: in memory, on the clock of
 * its cluster.
 */

export type Instance = {
  readonly id: string;
  readonly zone: string;
  readonly bootId: string;
  readonly state: 'running' | 'rebooting' | 'stopped';
};

type EventKind =
  | 'reboot'
  | 'redeploy'
  | 'freeze'
  | 'maintenance'
  | 'stop'
  | 'retirement'
  | 'termination'
  | 'preemption'
  | 'rebalance';

/** An event that the cloud has announced for a machine. It is done by `deadline`. */
export type CloudEvent = {
  readonly provider: 'simulated';
  readonly id: string;
  readonly kind: EventKind;
  /** Code of the provider, as EC2 has them. */
  readonly code?: string;
  readonly instance: string;
  readonly notBefore: Temporal.Instant;
  readonly deadline: Temporal.Instant;
  readonly state: 'Scheduled' | 'Active' | 'Completed' | 'Cancelled';
  readonly description: string;
  readonly source: string;
};

/** One reading of the events of some machines. */
type Scan = {
  readonly source: string;
  readonly looked: ReadonlySet<string>;
  readonly events: readonly CloudEvent[];
  readonly unknown: readonly string[];
};

/** Milliseconds from a stop until its event is completed. */
const stoppedAfterMs = 20_000;

/** Default duration of a reboot, in milliseconds. */
const defaultRebootMs = 45_000;

type Announcement = {
  readonly kind: EventKind;
  readonly inSeconds: number;
  readonly description?: string;
};

const codes: Partial<Record<EventKind, string>> = {
  reboot: 'instance-reboot',
  maintenance: 'system-maintenance',
  retirement: 'instance-retirement',
  stop: 'instance-stop',
};

export class SimulatedCloud {
  readonly #clock: Clock;
  readonly #rebootMs: number;
  readonly #instances = new Map<string, Instance>();
  readonly #events = new Map<string, CloudEvent>();
  readonly #listeners = new Set<(instance: string) => void>();
  /** Cancel functions of planned actions. */
  readonly #plans = new Map<string, () => void>();
  #count = 0;

  constructor(clock: Clock, rebootMs = defaultRebootMs) {
    this.#clock = clock;
    this.#rebootMs = rebootMs;
  }

  /**
   * Calls back for every change of a machine or of its events. Returns a function that ends this.
   */
  subscribe(listener: (instance: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  launch(zone: string): Instance {
    this.#count += 1;
    const id = `i-${String(this.#count).padStart(8, '0')}`;
    return this.#set({ id, zone, bootId: `${id}-boot-1`, state: 'running' });
  }

  instance(id: string): Instance | undefined {
    return this.#instances.get(id);
  }

  /** Removes a machine with all of its events. */
  terminate(id: string): void {
    this.#instances.delete(id);
    for (const [key, event] of this.#events) {
      if (event.instance !== id) continue;
      this.#events.delete(key);
      this.#plans.get(key)?.();
      this.#plans.delete(key);
    }
    this.#tell(id);
  }

  /** Announces an event, and executes it at its time. Returns the id of the event. */
  announce(
    instance: string,
    {
      kind,
      inSeconds,
      description = 'The host of this machine has degraded hardware',
    }: Announcement,
  ): string {
    const id = `event-${this.#events.size + 1}-${instance}`;
    const deadline = secondsAfter(this.#clock.now(), inSeconds);
    const code = codes[kind];
    const event = {
      provider: 'simulated',
      id,
      kind,
      instance,
      notBefore: deadline,
      deadline,
      state: 'Scheduled',
      description,
      source: 'cloud',
    } as const;
    this.#events.set(id, { ...event, ...(code !== undefined && { code }) });
    this.#plan(id, inSeconds * 1000, () => this.#act(id));
    this.#tell(instance);
    return id;
  }

  /**
   * Restarts a machine from inside, which no cloud announces; it is back after `inMs` milliseconds.
   */
  restart(id: string, inMs = this.#rebootMs): void {
    const instance = this.#instances.get(id);
    if (instance?.state === 'running') this.#goDown(instance, `restart-${id}`, inMs, () => {});
  }

  /** Cancels an event. */
  cancel(id: string): void {
    this.#change(id, 'Cancelled');
  }

  /** Stops all timers, which would keep a process from exiting. */
  stop(): void {
    for (const callOff of this.#plans.values()) callOff();
    this.#plans.clear();
  }

  /** Returns the events of these machines, as the API of a cloud would. */
  scan(source: string, instances: readonly string[]): Scan {
    const looked = new Set(instances.filter(id => this.#instances.has(id)));
    const events = [...this.#events.values()]
      .filter(({ instance }) => looked.has(instance))
      .map(event => ({ ...event, source }));
    return { source, looked, events, unknown: instances.filter(id => !looked.has(id)) };
  }

  #plan(event: string, inMs: number, task: () => void): void {
    const callOff = this.#clock.after(inMs, () => {
      this.#plans.delete(event);
      task();
    });
    this.#plans.set(event, callOff);
  }

  #set(instance: Instance): Instance {
    this.#instances.set(instance.id, instance);
    this.#tell(instance.id);
    return instance;
  }

  #tell(instance: string): void {
    for (const listener of this.#listeners) listener(instance);
  }

  #change(id: string, state: CloudEvent['state']): void {
    const event = this.#events.get(id);
    if (event === undefined) return;
    this.#events.set(id, { ...event, state });
    this.#tell(event.instance);
  }

  #act(id: string): void {
    const event = this.#events.get(id);
    const instance = this.#instances.get(event?.instance ?? '');
    if (event?.state !== 'Scheduled' || instance === undefined) return;
    if (isBefore(this.#clock.now(), event.deadline)) return;
    this.#change(id, 'Active');
    if (event.kind === 'preemption' || event.kind === 'termination')
      return this.terminate(instance.id);
    if (event.kind === 'reboot' || event.kind === 'redeploy' || event.kind === 'maintenance')
      return this.#reboot(instance, id);
    if (event.kind === 'stop' || event.kind === 'retirement') {
      this.#set({ ...instance, state: 'stopped' });
      // As in EC2, the event is completed, and stays listed.
      this.#plan(id, stoppedAfterMs, () => this.#change(id, 'Completed'));
    } else this.#change(id, 'Completed');
  }

  #reboot(instance: Instance, event: string): void {
    this.#goDown(instance, event, this.#rebootMs, () => this.#change(event, 'Completed'));
  }

  #goDown(instance: Instance, plan: string, forMs: number, back: () => void): void {
    this.#set({ ...instance, state: 'rebooting' });
    this.#plan(plan, forMs, () => {
      const current = this.#instances.get(instance.id);
      // Of two overlapping reboots, the first has restarted the machine for both.
      if (current?.state === 'rebooting')
        this.#set({ ...instance, state: 'running', bootId: `${instance.bootId}+` });
      if (current !== undefined) back();
    });
  }
}

/** CRDs of machines for the simulation: fields are free, subresources are the real ones. */

function column(name: string, type: string, jsonPath: string): JsonObject {
  return { name, type, jsonPath };
}

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

const age = column('Age', 'date', '.metadata.creationTimestamp');

const ofSet = {
  subresources: {
    status: {},
    scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
  },
  additionalPrinterColumns: [
    column('Desired', 'integer', '.spec.replicas'),
    column('Current', 'integer', '.status.replicas'),
    age,
  ],
};

const ofMachine = {
  subresources: { status: {} },
  additionalPrinterColumns: [
    column('Phase', 'string', '.status.phase'),
    column('Node', 'string', '.status.nodeRef.name'),
    column('ProviderID', 'string', '.spec.providerID'),
    age,
  ],
};

const columnsOf = {
  Machine: ofMachine,
  MachineSet: ofSet,
  Cluster: { subresources: { status: {} }, additionalPrinterColumns: [age] },
} as const;

function definition(group: string, version: string, kind: keyof typeof columnsOf): JsonObject {
  const plural = `${kind.toLowerCase()}s`;
  const schema = {
    openAPIV3Schema: { type: 'object', properties: { spec: anything, status: anything } },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      versions: [{ name: version, served: true, storage: true, schema, ...columnsOf[kind] }],
    },
  };
}

/** The simulated machine API. */
export type Flavour = 'openshift' | 'capi';

export const machineGroups: Readonly<
  Record<Flavour, { readonly group: string; readonly version: string }>
> = {
  openshift: { group: 'machine.openshift.io', version: 'v1beta1' },
  capi: { group: 'cluster.x-k8s.io', version: 'v1beta2' },
};

/** Returns the CRDs to create before the controllers start. */
export function machineDefinitions(flavour: Flavour): readonly JsonObject[] {
  const { group, version } = machineGroups[flavour];
  const kinds = [
    'Machine',
    'MachineSet',
    ...(flavour === 'capi' ? (['Cluster'] as const) : []),
  ] as const;
  return kinds.map(kind => definition(group, version, kind));
}
