import { type JsonObject, readTime } from '@drydock/apimachinery';
import { type Blocker, readBudget } from '@drydock/core/drain';
import { type DrainInputs, decideDrainOnly, snapshotOf } from '@drydock/core/maintenance';
import { readPod } from '@drydock/core/pod';
import type { KindAdapter, MaintenanceRequest } from '@drydock/core/request';
import { at, items, objects, text } from '@drydock/kube-sim';
import { keyOf } from '@drydock/kube-sim/controllers';
import { budgetsOver, type RegistryContext } from '@drydock/kube-sim/registry';
import type { Store } from '@drydock/kube-sim/store';

/**
 * Returns whether a pod is not a VM's: those are migrated by KubeVirt, and only the operator knows
 * their progress.
 */
function isPlain({ owner }: ReturnType<typeof readPod>): boolean {
  return owner?.kind !== 'VirtualMachineInstance';
}

function drainInputsAt(store: Store, node: string): DrainInputs {
  const stored = store.indexed('pods', 'spec.nodeName', node);
  const budgets = new Set(stored.flatMap(pod => budgetsOver(store, pod)));
  return {
    pods: stored.map(readPod).filter(isPlain),
    budgets: [...budgets].map(readBudget),
    daemonSets: new Set(store.list('daemonsets.apps').map(keyOf)),
  };
}

/**
 * Returns the present blockers of a drain, for a kind whose status has none: the operator's
 * decision about the current pods and budgets.
 */
function computedBlockers(
  store: Store,
  request: MaintenanceRequest,
  now: Temporal.Instant,
): readonly Blocker[] {
  return (
    decideDrainOnly(snapshotOf(request, drainInputsAt(store, request.nodeName)), now).reports[0]
      ?.blockers ?? []
  );
}

/** A wait of a maintenance. Times in milliseconds since the rehearsal began. */
export type ObservedWait = {
  readonly reason: string;
  /**
   * Subject: `namespace/name` of the pod, or the name of a volume or server; missing for the whole
   * node.
   */
  readonly what?: string;
  readonly budgets?: readonly string[];
  message: string;
  remedy?: string;
  readonly fromMs: number;
  /** End of the wait; missing while it lasts. */
  toMs?: number;
};

/** Course of one maintenance. */
export type MaintenanceTrace = {
  readonly node: string;
  readonly name: string;
  state: string;
  message: string;
  beganMs?: number;
  drainedMs?: number;
  failedMs?: number;
  /** Time at which it starts or continues. */
  startsAtMs?: number;
  readonly waits: Map<string, ObservedWait>;
};

/** Normal reasons in a maintenance's status; any other explains why it does not continue. */
const defaultReasons = new Set(['Held', 'NotYetHeld', 'Announced', '']);

/** Causes that end without action, and are not reported as obstacles. */
const routineReasons = new Set(['Terminating', 'EarlierWave']);

function problemOf(status: JsonObject): Omit<ObservedWait, 'fromMs'> | undefined {
  const held = objects(status['conditions']).find(({ type }) => type === 'NodeHeld');
  const reason = text(held, 'reason');
  return defaultReasons.has(reason) ? undefined : { reason, message: text(held, 'message') };
}

type Seen = Omit<ObservedWait, 'fromMs'> & { readonly since?: Temporal.Instant };

function seenIn(blocker: JsonObject): Seen {
  const pod =
    at(blocker, 'pod') === undefined
      ? undefined
      : `${text(blocker, 'pod', 'namespace')}/${text(blocker, 'pod', 'name')}`;
  const what = pod ?? (text(blocker, 'volume') || text(blocker, 'server', 'name'));
  const budgets = items(blocker['budgets']).map(String);
  const since = readTime(blocker['startTime']);
  return {
    reason: text(blocker, 'reason'),
    message: text(blocker, 'message'),
    ...(what !== '' && { what }),
    ...(budgets.length > 0 && { budgets }),
    ...(text(blocker, 'remedy') !== '' && { remedy: text(blocker, 'remedy') }),
    ...(since && { since }),
  };
}

function seenBy({
  reason,
  pod,
  volume,
  server,
  budgets = [],
  message,
  remedy,
  since,
}: Blocker): Seen {
  const what = pod === undefined ? (volume ?? server?.name) : `${pod.namespace}/${pod.name}`;
  return {
    reason,
    message,
    since,
    ...(what !== undefined && { what }),
    ...(budgets.length > 0 && { budgets }),
    ...(remedy !== undefined && { remedy }),
  };
}

function waitsIn(status: JsonObject): readonly Seen[] {
  const problem = problemOf(status);
  const blockers = objects(status['blockers']).map(seenIn);
  return [
    ...blockers.filter(({ reason }) => !routineReasons.has(reason)),
    ...(problem === undefined ? [] : [problem]),
  ];
}

/**
 * Follows the maintenances of a rehearsal through the statuses that the operator writes, and by the
 * operator's decisions where these contain no blockers.
 */
export class WaitRecorder {
  readonly #registry: RegistryContext;
  readonly #beganMs: number;
  readonly traces = new Map<string, MaintenanceTrace>();
  /** Drains of kinds whose statuses contain no blockers. */
  readonly #silent = new Map<string, MaintenanceRequest>();
  readonly #unsubscribes: readonly (() => void)[];

  /**
   * Creates a recorder; `onTrace` receives every change of a maintenance, with the name of its
   * resource.
   */
  constructor(
    registry: RegistryContext,
    adapters: readonly KindAdapter[],
    onTrace: (trace: MaintenanceTrace, resource: string, gone: boolean) => void,
  ) {
    this.#registry = registry;
    this.#beganMs = this.#nowMs();
    this.#unsubscribes = adapters.flatMap(adapter => {
      const [group = ''] = adapter.apiVersion.split('/');
      const kind = registry.kinds.named(group, adapter.kind);
      if (kind === undefined) return [];
      const note = (raw: JsonObject, gone: boolean): void => {
        const request = adapter.read({
          apiVersion: adapter.apiVersion,
          kind: adapter.kind,
          ...raw,
        });
        if (typeof request === 'string') return;
        const trace = this.#note(request, raw, gone);
        onTrace(trace, kind.resource, gone);
      };
      for (const raw of registry.store.list(kind.resource)) note(raw, false);
      return [
        registry.store.subscribe(
          ({ type, object }) => note(object, type === 'removed'),
          kind.resource,
        ),
      ];
    });
  }

  /** Records waits that no status contains; call periodically. */
  look(): void {
    const { clock, store } = this.#registry;
    const now = clock.now();
    for (const [key, request] of this.#silent) {
      const trace = this.traces.get(key);
      const blockers = computedBlockers(store, request, now).filter(
        ({ reason }) => !routineReasons.has(reason),
      );
      // The start of a wait that was seen before is already recorded.
      if (trace !== undefined)
        this.#noteWaits(trace, blockers.map(seenBy), now.epochMilliseconds - this.#beganMs);
    }
  }

  end(): void {
    for (const unsubscribe of this.#unsubscribes) unsubscribe();
  }

  #nowMs(): number {
    return this.#registry.clock.now().epochMilliseconds;
  }

  #note(request: MaintenanceRequest, raw: JsonObject, gone: boolean): MaintenanceTrace {
    const { nodeName: node, name, adapter } = request;
    const state = request.history.state ?? 'Pending';
    const ms = this.#nowMs() - this.#beganMs;
    const status = (raw['status'] ?? {}) as JsonObject;
    const key = `${node} ${name}`;
    const trace = this.traces.get(key) ?? {
      node,
      name,
      state,
      message: '',
      waits: new Map<string, ObservedWait>(),
    };
    this.traces.set(key, trace);
    const isSilent = adapter.namesBlockers === undefined && state === 'Draining' && !gone;
    if (isSilent) this.#silent.set(key, request);
    else this.#silent.delete(key);
    if (gone) return trace;
    trace.state = state;
    trace.message = text(status, 'message');
    if (state === 'Draining' || state === 'Drained') trace.beganMs ??= ms;
    if (state === 'Drained') trace.drainedMs ??= ms;
    if (state === 'Failed') trace.failedMs ??= ms;
    const startsAt = readTime(status['scheduledTime']);
    if (startsAt === undefined) delete trace.startsAtMs;
    else trace.startsAtMs = startsAt.epochMilliseconds - this.#beganMs;
    if (!isSilent) this.#noteWaits(trace, waitsIn(status), ms);
    return trace;
  }

  #noteWaits({ waits }: MaintenanceTrace, seen: readonly Seen[], ms: number): void {
    const now = new Set<string>();
    for (const { since, ...one } of seen) {
      const id = `${one.reason} ${one.what ?? ''}`;
      now.add(id);
      const before = waits.get(id);
      const fromMs =
        since === undefined ? ms : Math.max(0, since.epochMilliseconds - this.#beganMs);
      if (before === undefined) waits.set(id, { ...one, fromMs });
      else {
        delete before.toMs;
        before.message = one.message;
        if (one.remedy !== undefined) before.remedy = one.remedy;
      }
    }
    for (const [id, wait] of waits) if (!now.has(id)) wait.toMs ??= ms;
  }
}
