import {
  earliest,
  isBefore,
  joinLimited,
  secondsAfter,
  secondsBetween,
} from '@drydock/apimachinery';
import type { PodCall } from '@drydock/core/drain';
import { type Blocker, blockerId, type DrainBehavior, drainBehaviorOf } from '@drydock/core/drain';
import type { Decision, NodeSnapshot } from '@drydock/core/maintenance';
import { decideDrainOnly, filterContextOf } from '@drydock/core/maintenance';
import type { Node } from '@drydock/core/node';
import { byKey, isTerminating, type Pod } from '@drydock/core/pod';
import type { MaintenanceRequest } from '@drydock/core/request';
import { goDuration } from '../shared/fail.ts';
import { evictionError, outlookOf, refusals, vmWarnings, waitError, warning } from './words.ts';

/** An update about a running drain, for output. */
export type DrainUpdate =
  | { readonly kind: 'warning'; readonly text: string }
  | { readonly kind: 'evicting' | 'left' | 'skipped'; readonly pod: Pod }
  /** New blockers keep pods from leaving. */
  | { readonly kind: 'waits'; readonly text: string }
  | {
      readonly kind: 'ended';
      readonly errors: readonly string[];
      readonly pending: readonly Pod[];
    };

/** Progress of a drain, for drawing. */
export type Progress = {
  readonly nodeName: string;
  readonly gone: number;
  readonly all: number;
  readonly terminating: number;
  /** Short reason why pods wait; empty when they are terminating. */
  readonly waits: string;
};

/** Seconds of patience with a server or a webhook that fails. kubectl has none. */
const patienceSeconds = 30;

const neverMore: readonly Blocker['reason'][] = ['MultipleBudgets', 'Forbidden'];
const maybeLater: readonly Blocker['reason'][] = ['AdmissionDenied', 'EvictionFailed'];
const quiet: readonly Blocker['reason'][] = [
  'Terminating',
  'EarlierWave',
  'Throttled',
  'MigrationQueued',
];

/**
 * Returns whether the engine did not request the eviction: then the blocker names the pod's
 * budgets; otherwise it has the server's message.
 */
function isUnasked({ reason, budgets }: Blocker): boolean {
  return reason === 'MultipleBudgets' && budgets !== undefined;
}

function isFinal(blocker: Blocker, now: Temporal.Instant): boolean {
  return (
    (neverMore.includes(blocker.reason) && !isUnasked(blocker)) ||
    (maybeLater.includes(blocker.reason) && secondsBetween(blocker.since, now) >= patienceSeconds)
  );
}

/**
 * Returns whether to print a blocker: not for pods that are terminating, and not for final
 * refusals, which are printed at the end.
 */
function isNews(blocker: Blocker): boolean {
  return (
    !quiet.includes(blocker.reason) && (blocker.reason !== 'MultipleBudgets' || isUnasked(blocker))
  );
}

function podKey({ pod }: Blocker): string {
  return pod === undefined ? '' : `${pod.namespace}/${pod.name}`;
}

/**
 * Groups blockers with the same cause and the same culprit into one update, however many pods they
 * block.
 */
function newsOf(blockers: readonly Blocker[]): ReadonlyMap<string, readonly Blocker[]> {
  const groups = new Map<string, Blocker[]>();
  for (const blocker of blockers.filter(isNews)) {
    const key =
      blocker.budgets === undefined
        ? blockerId(blocker)
        : `${blocker.reason} ${blocker.budgets.join(' ')}`;
    groups.set(key, [...(groups.get(key) ?? []), blocker]);
  }
  return groups;
}

function newsText(blockers: readonly Blocker[]): string {
  const [first] = blockers;
  if (first === undefined) return '';
  const help = first.remedy === undefined ? '' : `; help: ${first.remedy}`;
  return `${joinLimited(blockers.map(podKey), 5)}: ${first.message}${help}`;
}

type Options = {
  readonly request: MaintenanceRequest;
  /** Node as last read. */
  readonly node?: Node;
  readonly timeoutSeconds: number | undefined;
  readonly report: (nodeName: string, update: DrainUpdate) => void;
};

/**
 * The drain of one node as kubectl defines it: of the pods that exist once the node is cordoned,
 * and of no later ones. The engine is the operator's; this class decides its request and reports
 * its progress.
 */
export class NodeDrain {
  readonly #options: Options;
  /** UIDs of the pods to drain; undefined until they are known for certain. */
  #business: ReadonlySet<string> | undefined;
  #present: ReadonlyMap<string, Pod> = new Map();
  #all = 0;
  #began: Temporal.Instant | undefined;
  #ended = false;
  readonly #reported = new Set<string>();
  #blockers: readonly Blocker[] = [];
  /** Node as last read: the user may lack the right to watch nodes. */
  node: Node | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.node = options.node;
  }

  get request(): MaintenanceRequest {
    return this.#options.request;
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  progress(): Progress {
    const pods = [...this.#present.values()];
    return {
      nodeName: this.request.nodeName,
      gone: this.#all - pods.length,
      all: this.#all,
      terminating: pods.filter(isTerminating).length,
      waits: [...newsOf(this.#blockers)]
        .map(([, [first]]) => first?.budgets?.join(', ') ?? first?.reason ?? '')
        .join('; '),
    };
  }

  /**
   * Returns the decision for now; empty until the pods are known for certain, and after the end.
   */
  decide(observed: NodeSnapshot, now: Temporal.Instant): Decision {
    const snapshot = this.node === undefined ? observed : { ...observed, node: this.node };
    if (this.#ended) return decideDrainOnly({ ...snapshot, requests: [] }, now).decision;
    const { pods, ...withoutPods } = snapshot;
    if (pods === undefined || !snapshot.podsConfirmed)
      return decideDrainOnly({ ...withoutPods, podsConfirmed: false }, now).decision;
    const judged = this.#judge(pods, snapshot, now);
    if (this.#business === undefined && !this.#begin(judged, snapshot, now))
      return this.decide(snapshot, now);
    return this.#goOn(
      { ...snapshot, pods: pods.filter(({ uid }) => this.#business?.has(uid) === true) },
      judged.filter(({ pod }) => this.#business?.has(pod.uid) === true),
      now,
    );
  }

  #report(update: DrainUpdate): void {
    this.#options.report(this.request.nodeName, update);
  }

  #judge(
    pods: readonly Pod[],
    snapshot: NodeSnapshot,
    now: Temporal.Instant,
  ): readonly { readonly pod: Pod; readonly behavior: DrainBehavior }[] {
    const filterContext = filterContextOf(snapshot, now);
    return pods
      .toSorted(byKey)
      .map(pod => ({ pod, behavior: drainBehaviorOf(pod, this.request.policy, filterContext) }));
  }

  /** Starts the drain; a single refused pod stops it before the first eviction. */
  #begin(
    judged: readonly { readonly pod: Pod; readonly behavior: DrainBehavior }[],
    snapshot: NodeSnapshot,
    now: Temporal.Instant,
  ): boolean {
    const refused = refusals(judged);
    if (refused.length > 0) {
      this.#end(refused, []);
      return false;
    }
    const text = warning(judged);
    if (text !== undefined) this.#report({ kind: 'warning', text });
    for (const vmText of vmWarnings(
      outlookOf(judged, filterContextOf(snapshot, now), this.request.policy),
    )) {
      this.#report({ kind: 'warning', text: vmText });
    }
    this.#business = new Set(judged.map(({ pod }) => pod.uid));
    this.#began = now;
    const leaving = judged
      .filter(({ behavior }) => behavior.behavior === 'evict')
      .map(({ pod }) => pod);
    this.#present = new Map(leaving.map(pod => [pod.uid, pod]));
    this.#all = leaving.length;
    return true;
  }

  #goOn(
    snapshot: NodeSnapshot,
    judged: readonly { readonly pod: Pod; readonly behavior: DrainBehavior }[],
    now: Temporal.Instant,
  ): Decision {
    const { decision, reports } = decideDrainOnly(snapshot, now);
    this.#blockers = reports[0]?.blockers ?? [];
    this.#tellOfPods(judged);
    const calls = [...decision.calls, ...this.#callsInVain()];
    for (const { pod } of calls) this.#report({ kind: 'evicting', pod });
    this.#tellOfBlockers();
    const deadline = this.#deadline();
    const errors =
      deadline !== undefined && !isBefore(now, deadline) ? this.#timeUp() : this.#givenUp(now);
    if (this.#present.size === 0) this.#end([], []);
    else if (errors !== undefined) this.#end(errors, [...this.#present.values()]);
    if (this.#ended) return decideDrainOnly({ ...snapshot, requests: [] }, now).decision;
    const requeueAt = earliest([decision.requeueAt, deadline, this.#patienceEnd(now)]);
    return { ...decision, calls, ...(requeueAt && { requeueAt }) };
  }

  /**
   * Returns calls that must fail: the server always refuses pods in several budgets, so the engine
   * does not request their eviction. kubectl does, and its users read the server's error.
   */
  #callsInVain(): readonly PodCall[] {
    const { gracePeriodSeconds } = this.request.policy;
    const keys = new Set(this.#blockers.filter(isUnasked).map(podKey));
    return [...this.#present.values()]
      .filter(({ key }) => keys.has(key))
      .map(pod => ({
        pod,
        wave: 0,
        method: 'evict',
        escalated: false,
        ...(gracePeriodSeconds >= 0 && { gracePeriodSeconds }),
      }));
  }

  #tellOfPods(judged: readonly { readonly pod: Pod; readonly behavior: DrainBehavior }[]): void {
    const behaviors = new Map(judged.map(one => [one.pod.uid, one]));
    const present = new Map<string, Pod>();
    for (const [uid, pod] of this.#present) {
      const now = behaviors.get(uid);
      if (now === undefined) this.#report({ kind: 'left', pod });
      else if (now.behavior.behavior === 'ignore') this.#report({ kind: 'skipped', pod });
      else present.set(uid, now.pod);
    }
    this.#present = present;
  }

  #tellOfBlockers(): void {
    for (const [key, blockers] of newsOf(this.#blockers)) {
      if (this.#reported.has(key)) continue;
      this.#reported.add(key);
      this.#report({ kind: 'waits', text: newsText(blockers) });
    }
  }

  #deadline(): Temporal.Instant | undefined {
    const { timeoutSeconds } = this.#options;
    return timeoutSeconds === undefined || this.#began === undefined
      ? undefined
      : secondsAfter(this.#began, timeoutSeconds);
  }

  #timeUp(): readonly string[] {
    const limit = `global timeout reached: ${goDuration(this.#options.timeoutSeconds ?? 0)}`;
    return [...this.#present.values()].map(pod =>
      isTerminating(pod) ? waitError(pod) : evictionError(pod, limit),
    );
  }

  /** Returns the errors when every remaining pod has a final error, so that waiting is useless. */
  #givenUp(now: Temporal.Instant): readonly string[] | undefined {
    const final = new Map(
      this.#blockers
        .filter(blocker => isFinal(blocker, now))
        .map(blocker => [podKey(blocker), blocker.message]),
    );
    const left = [...this.#present.values()];
    if (!left.every(({ key }) => final.has(key))) return undefined;
    return left.map(pod => evictionError(pod, final.get(pod.key) ?? ''));
  }

  #patienceEnd(now: Temporal.Instant): Temporal.Instant | undefined {
    const ends = this.#blockers.flatMap(({ reason, since }) =>
      maybeLater.includes(reason) ? [secondsAfter(since, patienceSeconds)] : [],
    );
    return earliest(ends.filter(end => isBefore(now, end)));
  }

  #end(errors: readonly string[], pending: readonly Pod[]): void {
    this.#ended = true;
    this.#report({ kind: 'ended', errors, pending });
  }
}
