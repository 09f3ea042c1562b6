import { joinLimited } from '@drydock/apimachinery';
import { classify, drainBehaviorOf, type EvictionOutcome } from '@drydock/core/drain';
import { decideDrainOnly, filterContextOf, snapshotOf } from '@drydock/core/maintenance';
import type { Node } from '@drydock/core/node';
import { byKey, type Pod } from '@drydock/core/pod';
import { drainRequest } from '@drydock/core/request';
import type { Api, Connection } from '@drydock/kube-client';
import { podCall } from '@drydock/operator/evict';
import { type DrainInputsNow, drainInputsAt } from '../shared/drain-inputs.ts';
import type { Output } from '../shared/output.ts';
import { resultLine, setCordon } from './cordon.ts';
import type { DrainOptions } from './drain-options.ts';
import { outlookOf } from './vms.ts';
import { aggregate, evictionError, refusals, warning } from './words.ts';

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
