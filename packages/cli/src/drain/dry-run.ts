import { joinLimited } from '@drydock/apimachinery';
import { classify, drainBehaviorOf, type EvictionOutcome } from '@drydock/core/drain';
import { decideDrainOnly, filterContextOf, snapshotOf } from '@drydock/core/maintenance';
import { type Node, readNode } from '@drydock/core/node';
import { byKey, type Pod } from '@drydock/core/pod';
import { drainRequest } from '@drydock/core/request';
import { type Api, type Connection, vitalGet } from '@drydock/kube-client';
import { noMeter } from '@drydock/operator';
import { podCall } from '@drydock/operator/evict';
import { NodeReconciler } from '@drydock/operator/node';
import { type Clock, type Log, PanicHandler } from '@drydock/utils';
import { type DrainInputsNow, drainInputsAt } from '../shared/drain-inputs.ts';
import { nodePath } from '../shared/nodes.ts';
import type { Output } from '../shared/output.ts';
import { resultLine, setCordon } from './cordon.ts';
import type { DrainOptions } from './node-commands.ts';
import { type DrainUpdate, NodeDrain } from './node-drain.ts';
import { aggregate, evictionError, outlookOf, refusals, warning } from './words.ts';

/** Prints what blocks pods at present; the order of the real drain may change it. */
function forecast(
  nodeName: string,
  drainOptions: DrainOptions,
  { now, ...drainInputs }: DrainInputsNow,
  output: Output,
): void {
  const [report] = decideDrainOnly(
    snapshotOf(drainRequest(nodeName, drainOptions.policy, now), drainInputs),
    now,
  ).reports;
  const texts = new Map<string, string[]>();
  for (const { pod, message, remedy } of report?.blockers ?? []) {
    if (pod === undefined) continue;
    const text = remedy === undefined ? message : `${message}; help: ${remedy}`;
    texts.set(text, [...(texts.get(text) ?? []), `${pod.namespace}/${pod.name}`]);
  }
  for (const [text, keys] of texts)
    output.note(`node/${nodeName} would wait: ${joinLimited(keys, 5)}: ${text}`);
}

/** Returns whether KubeVirt refused the eviction because it migrates the pod's VM. */
function movesVm(kind: EvictionOutcome['kind']): boolean {
  return kind === 'evacuating' || kind === 'migrationTarget';
}

/** Sends a dry run for each pod. Returns the errors that would be final. */
async function askServer(
  api: Api,
  pods: readonly Pod[],
  drainOptions: DrainOptions,
  output: Output,
): Promise<readonly string[]> {
  const errors: string[] = [];
  const method = drainOptions.policy.disableEviction ? 'delete' : 'evict';
  const grace = drainOptions.policy.gracePeriodSeconds;
  for (const pod of pods) {
    if (method === 'evict') output.line(`evicting pod ${pod.key} (server dry run)`);
    const call = podCall({
      pod,
      wave: 0,
      method,
      escalated: false,
      ...(grace >= 0 && { gracePeriodSeconds: grace }),
    });
    const outcome = classify(await api.call({ ...call, query: { dryRun: 'All' } }));
    if (outcome.kind === 'accepted' || outcome.kind === 'gone') continue;
    // A real drain waits for a budget that allows no eviction at present.
    if (movesVm(outcome.kind)) continue;
    if (
      outcome.kind === 'budget' ||
      outcome.kind === 'budgetBehind' ||
      outcome.kind === 'throttled'
    ) {
      output.note(`node/${pod.nodeName} would wait: ${pod.key}: ${outcome.message}`);
    } else errors.push(evictionError(pod, outcome.message));
  }
  return errors;
}

async function rehearseNode(
  api: Connection,
  node: Node,
  drainOptions: DrainOptions,
  output: Output,
): Promise<readonly string[]> {
  const drainInputs = await drainInputsAt(api, node.name);
  const { now } = drainInputs;
  const filterContext = filterContextOf({ nodeName: node.name, ...drainInputs }, now);
  const judged = drainInputs.pods
    .toSorted(byKey)
    .map(pod => ({ pod, behavior: drainBehaviorOf(pod, drainOptions.policy, filterContext) }));
  const refused = refusals(judged);
  if (refused.length > 0) return refused;
  const text = warning(judged);
  if (text !== undefined) output.note(text);
  const pods = judged.filter(({ behavior }) => behavior.behavior === 'evict').map(({ pod }) => pod);
  for (const vm of outlookOf(judged, filterContext, drainOptions.policy))
    output.note(`node/${node.name}: VM ${vm.name} ${vm.text}`);
  forecast(node.name, drainOptions, drainInputs, output);
  if (drainOptions.dryRun === 'server') return askServer(api, pods, drainOptions, output);
  for (const { key } of pods) output.line(`evicting pod ${key} (dry run)`);
  return [];
}

/**
 * `drydock drain --dry-run`: prints kubectl's lines, and what would make pods wait. Exit code 1
 * when a node would not be drained.
 */
export async function rehearseDrain(
  api: Connection,
  nodes: readonly Node[],
  drainOptions: DrainOptions,
  output: Output,
): Promise<void> {
  for (const node of nodes) await setCordon(api, node, true, drainOptions.dryRun, output);
  const failed = new Map<string, readonly string[]>();
  for (const node of nodes) {
    const errors = await rehearseNode(api, node, drainOptions, output);
    if (errors.length === 0)
      output.line(resultLine(`node/${node.name}`, 'drained', drainOptions.dryRun));
    else {
      failed.set(node.name, errors);
      output.note(
        `error: unable to drain node "${node.name}" due to error: ${aggregate(errors)}, continuing command...`,
      );
    }
  }
  summary(failed, output);
}

/** Prints kubectl's final lines about nodes that are not drained, and sets its exit code. */
export function summary(errors: ReadonlyMap<string, readonly string[]>, output: Output): void {
  if (errors.size === 0) return;
  output.note('There are pending nodes to be drained:');
  for (const name of errors.keys()) output.note(` ${name}`);
  for (const error of [...errors.values()].flat()) output.note(error);
  process.exitCode = 1;
}

/** Milliseconds between reads of the nodes: a kubelet's readiness changes within 40 s. */
const readNodesEveryMs = 5000;

type Options = {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly log: Log;
  readonly drainOptions: Pick<DrainOptions, 'policy' | 'timeoutSeconds'>;
  readonly report: (nodeName: string, update: DrainUpdate) => void;
};

/**
 * Drains nodes with the operator's engine: the same decisions, budgets and pace, in a process that
 * ends with them. Reads budgets and DaemonSets while the nodes are still being cordoned; does
 * nothing to a node before `ask` names it.
 */
export class DrainEngine {
  readonly #drains = new Map<string, NodeDrain>();
  readonly #options: Options;
  readonly #operator: NodeReconciler;
  readonly #done = new AbortController();
  #allAsked = false;

  constructor(options: Options) {
    this.#options = options;
    const { connection, clock, log } = options;
    this.#operator = new NodeReconciler({
      api: connection,
      watcher: connection,
      recorder: { record: () => {} },
      meter: noMeter,
      fence: { mayAct: () => true },
      clock,
      log,
      defects: new PanicHandler({ log }),
      adapters: [],
      terms: { durationSeconds: 0, renewEverySeconds: 0 },
      scope: 'drain',
      decide: (snapshot, now) => {
        const drain = this.#drains.get(snapshot.nodeName);
        if (drain === undefined)
          throw new Error(`nobody has asked for a drain of ${snapshot.nodeName}`);
        return drain.decide(snapshot, now);
      },
    });
  }

  get drains(): readonly NodeDrain[] {
    return [...this.#drains.values()];
  }

  /** Resolves when every requested node is drained or given up, or when the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const end = AbortSignal.any([signal, this.#done.signal]);
    try {
      await Promise.all([this.#operator.run(end), this.#followNodes(end)]);
    } finally {
      this.#done.abort();
    }
  }

  /** Requests the drain of these nodes, and no others. Each is already cordoned. */
  ask(nodes: readonly Node[]): void {
    const { drainOptions, clock } = this.#options;
    for (const node of nodes) {
      const request = drainRequest(node.name, drainOptions.policy, clock.now());
      const { timeoutSeconds } = drainOptions;
      this.#drains.set(
        node.name,
        new NodeDrain({
          request,
          node,
          timeoutSeconds,
          report: (name, update) => this.#record(name, update),
        }),
      );
      this.#operator.addRequest(request);
    }
    this.#allAsked = true;
    this.#endWhenDone();
  }

  /**
   * Reads the nodes of running drains periodically: a silent kubelet is reported as the cause of
   * the delays that follow.
   */
  async #followNodes(signal: AbortSignal): Promise<void> {
    const { clock, connection, log } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(readNodesEveryMs, signal);
      for (const drain of this.drains.filter(({ hasEnded }) => !hasEnded)) {
        const { nodeName } = drain.request;
        if (signal.aborted) return;
        const found = await vitalGet(connection, nodePath(nodeName), error =>
          log.debug('failed to read a node', { node: nodeName, error }),
        );
        if (found?.status !== 200) continue;
        drain.node = readNode(found.body);
        this.#operator.enqueue(nodeName);
      }
    }
  }

  #record(nodeName: string, update: DrainUpdate): void {
    this.#options.report(nodeName, update);
    if (update.kind !== 'ended') return;
    const drain = this.#drains.get(nodeName);
    // Removing the request triggers another reconcile, which cancels what is still queued for the
    // node.
    if (drain !== undefined) this.#operator.removeRequest(drain.request);
    this.#endWhenDone();
  }

  #endWhenDone(): void {
    if (this.#allAsked && this.drains.every(({ hasEnded }) => hasEnded)) this.#done.abort();
  }
}
