import { isMissing, joinLimited, matches, pathSegment } from '@drydock/apimachinery';
import {
  type BlockerSummary,
  drainBehaviorOf,
  groupBlockers,
  seedPolicy,
} from '@drydock/core/drain';
import {
  blockersNow,
  type DrainInputs,
  filterContextOf,
  namesAllBlockers,
  operatorPods,
  operatorSelector,
  readOperatorPod,
  stayingOn,
  vmsNow,
} from '@drydock/core/maintenance';
import { readNode } from '@drydock/core/node';
import { isTerminating, type Pod, readPod } from '@drydock/core/pod';
import {
  drainRequest,
  isDraining,
  type KindAdapter,
  type MaintenanceRequest,
} from '@drydock/core/request';
import { evictionPreview } from '@drydock/core/vm';
import type { ApiResponse, Connection } from '@drydock/kube-client';
import { kindsOf } from '@drydock/operator/discovery';
import { type Env, UsageError } from '@drydock/utils';
import { plansAbout } from '../plan/why-plans.ts';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { drainInputsAt } from '../shared/drain-inputs.ts';
import { nodePath } from '../shared/nodes.ts';
import { plainOutput } from '../shared/output.ts';
import { ApiError, refusedError, requestsOf, titleOf } from '../shared/requests.ts';
import { withCluster } from '../shared/with-cluster.ts';

/** Facts for the explanation. */
type WhyInputs = {
  readonly nodeName: string;
  /** Maintenances of this node, oldest first. */
  readonly requests: readonly MaintenanceRequest[];
  /** Hypothetical maintenance, for a node without one. */
  readonly imagined: MaintenanceRequest;
  readonly drainInputs: DrainInputs;
  readonly now: Temporal.Instant;
  /** Reason why a drain would leave the operator's pod on the node. */
  readonly stays?: string;
};

/** Returns a sentence for each group of blockers with the same remedy. */
function sentences(blockers: readonly BlockerSummary[]): readonly string[] {
  return groupBlockers(blockers).map(({ whats, message, remedy }) => {
    const help = remedy === undefined ? '' : ` What helps: ${remedy}.`;
    return `${joinLimited(whats, 5)}: ${message}.${help}`;
  });
}

function reasonOf({ reason }: MaintenanceRequest): string {
  return reason === undefined || reason === '' ? '' : ` (${reason})`;
}

function phaseOf({ status, deleting }: MaintenanceRequest): string {
  const { phase, message, lastError } = status;
  if (deleting) return 'is being released';
  const detail = [message, lastError].flatMap(text =>
    typeof text === 'string' && text !== '' ? [text] : [],
  )[0];
  const word = typeof phase === 'string' && phase !== '' ? phase : 'not begun';
  return `is ${word}${detail === undefined ? '' : `: ${detail}`}`;
}

function vmText(request: MaintenanceRequest, { drainInputs, now }: WhyInputs): readonly string[] {
  const vms = vmsNow(request, drainInputs, now);
  return vms === undefined ? [] : [`${vms.summary}.`];
}

/** Returns the command that deletes the maintenance. */
function deletionOf({ adapter, namespace, name }: MaintenanceRequest): string {
  return `kubectl delete ${adapter.name} ${name}${namespace === undefined ? '' : ` -n ${namespace}`}`;
}

function requestText(request: MaintenanceRequest, known: WhyInputs): string {
  const { drainInputs, now } = known;
  const { history } = request;
  const about = `${titleOf(request)}${reasonOf(request)}, made ${request.createdAt.toString({ smallestUnit: 'second' })}, ${phaseOf(request)}.`;
  if (history.failure === 'NodeNotFound')
    return `${about} What helps: delete it, there is nothing left to release: ${deletionOf(request)}.`;
  if (!isDraining(request)) return about;
  return [
    about,
    ...vmText(request, known),
    ...sentences(blockersNow(request, drainInputs, now)),
  ].join(' ');
}

function vmsOutlook({ nodeName, imagined, drainInputs, now }: WhyInputs): string {
  const { vmPods } = filterContextOf({ nodeName, ...drainInputs }, now);
  const vms = evictionPreview(vmPods.values(), imagined.policy.virtualMachines);
  const texts = new Map<string, string[]>();
  for (const { name, text } of vms) texts.set(text, [...(texts.get(text) ?? []), name]);
  return [...texts].map(([text, names]) => ` VM ${joinLimited(names, 5)} ${text}.`).join('');
}

function withoutMaintenance(known: WhyInputs): string {
  const { nodeName, imagined, drainInputs, now } = known;
  const cordoned =
    drainInputs.node?.unschedulable === true
      ? ' It is cordoned, by somebody who left no maintenance.'
      : '';
  const blockers = sentences(blockersNow(imagined, drainInputs, now));
  const outlook =
    blockers.length === 0
      ? ' A drain would find nothing in its way that can be seen from here.'
      : ` A drain would find in its way: ${blockers.join(' ')}`;
  const stay = known.stays === undefined ? '' : ` It would be drained but for one: ${known.stays}.`;
  return `No maintenance holds node ${nodeName}.${cordoned}${outlook}${stay}${vmsOutlook(known)}`;
}

/** Returns one paragraph: why the node is in its state, and a remedy. */
function whyNode(known: WhyInputs): string {
  const {
    nodeName,
    requests,
    drainInputs: { node },
  } = known;
  if (requests.length === 0) return withoutMaintenance(known);
  const state =
    node === undefined
      ? 'does not exist (any more)'
      : node.holdRecord === undefined
        ? 'is not held (yet)'
        : 'is held';
  return `Node ${nodeName} ${state}. ${requests.map(request => requestText(request, known)).join(' ')}`;
}

const stays: Readonly<Record<string, string>> = {
  DaemonSet: 'its DaemonSet would bring it back at once, so it is left where it is',
  MirrorPod: 'it is a static pod, which only its kubelet can stop',
  NotSelected: 'the pod selector does not pick it',
  LeftAlone: 'the policy leaves it alone',
  LastOperator: 'it is the operator itself, which no other node may run',
  TerminatingTooLong: 'it has been terminating for too long and is not waited for any more',
};

function podText(pod: Pod, request: MaintenanceRequest, { drainInputs, now }: WhyInputs): string {
  const behavior = drainBehaviorOf(
    pod,
    request.policy,
    filterContextOf({ nodeName: pod.nodeName, ...drainInputs }, now),
  );
  if (behavior.behavior === 'ignore')
    return `It stays: ${stays[behavior.reason] ?? behavior.reason}.`;
  const blocker = blockersNow(request, drainInputs, now).find(({ what }) => what === pod.key);
  if (blocker !== undefined) {
    const since = blocker.since === undefined ? '' : `, since ${blocker.since}`;
    const remedy = blocker.remedy === undefined ? '' : ` What helps: ${blocker.remedy}.`;
    return `It cannot go yet: ${blocker.message} (${blocker.reason}${since}).${remedy}`;
  }
  if (isTerminating(pod)) return 'It is on its way out.';
  if (namesAllBlockers(request))
    return 'Nothing keeps it, as far as its maintenance says: it goes at its turn.';
  const { lastError } = request.status;
  const lastErrorText =
    typeof lastError !== 'string' || lastError === '' ? '' : ` Its last error: ${lastError}.`;
  return `Nothing that can be seen from here keeps it. Only the tool that drains the node knows how the API server responds to its eviction.${lastErrorText}`;
}

/** Returns one paragraph: why the pod is still there, and a remedy. */
function whyPod(pod: Pod, known: WhyInputs): string {
  const { nodeName, requests, imagined } = known;
  const draining = requests.filter(({ deleting, level }) => !deleting && level === 'Drain');
  if (draining.length === 0) {
    return `Pod ${pod.key} runs on node ${nodeName}, which no maintenance drains. If one did: ${podText(pod, imagined, known)}`;
  }
  const texts = draining.map(
    request => `${titleOf(request)}${reasonOf(request)} drains it. ${podText(pod, request, known)}`,
  );
  return `Pod ${pod.key} runs on node ${nodeName}. ${texts.join(' ')}`;
}

export type WhyFlags = ConnectionFlags & { readonly namespace?: string };

type Target =
  | { readonly kind: 'node'; readonly name: string }
  | { readonly kind: 'pod'; readonly namespace: string; readonly name: string }
  /** A bare name: a node's, or else a pod's. */
  | { readonly kind: 'either'; readonly namespace: string; readonly name: string };

/**
 * Parses `NODE`, `POD`, `node/NODE`, `pod/POD` or `NAMESPACE/POD`. Throws a UsageError for anything
 * else.
 */
export function targetOf(text: string, namespace: string): Target {
  const [first = '', second, ...rest] = text.split('/');
  if (rest.length > 0 || first === '' || second === '')
    throw new UsageError(`"${text}" is neither a node nor a pod; use NODE, POD or NAMESPACE/POD`);
  if (second === undefined) return { kind: 'either', namespace, name: first };
  if (['node', 'nodes', 'no'].includes(first)) return { kind: 'node', name: second };
  if (['pod', 'pods', 'po'].includes(first)) return { kind: 'pod', namespace, name: second };
  return { kind: 'pod', namespace: first, name: second };
}

function get(connection: Connection, path: string): Promise<ApiResponse> {
  return connection.call({ method: 'GET', path });
}

function podPath(namespace: string, name: string): string {
  return `/api/v1/namespaces/${pathSegment(namespace)}/pods/${pathSegment(name)}`;
}

/**
 * Throws when the pod's whole namespace is missing, because that explains more than the missing
 * pod.
 */
async function refuseMissingNamespace(connection: Connection, namespace: string): Promise<void> {
  const response = await get(connection, `/api/v1/namespaces/${pathSegment(namespace)}`);
  if (response.status === 404)
    throw new ApiError(
      `${refusedError(response).message}; kubectl get namespaces lists the namespaces`,
    );
}

type WhySubject = { readonly nodeName: string; readonly pod?: Pod };

async function find(
  connection: Connection,
  target: Target,
  kinds: readonly KindAdapter[],
): Promise<WhySubject> {
  if (target.kind !== 'pod') {
    const { name } = target;
    const node = await get(connection, nodePath(name));
    const isGone = isMissing(name, node);
    // A maintenance may still refer to a deleted node.
    if (node.status === 200 || (isGone && (await requestsOf(connection, kinds, name)).length > 0))
      return { nodeName: name };
    if (target.kind === 'node' || !isGone) throw refusedError(node);
  }
  const response = await get(connection, podPath(target.namespace, target.name));
  if (response.status === 404) await refuseMissingNamespace(connection, target.namespace);
  if (target.kind === 'either' && response.status === 404) {
    throw new ApiError(
      `error: there is no node "${target.name}", and no pod of that name in namespace "${target.namespace}"`,
    );
  }
  if (response.status !== 200) throw refusedError(response);
  const pod = readPod(response.body);
  return { nodeName: pod.nodeName, pod };
}

/**
 * Returns why a drain would leave the operator's pod on the node; undefined when it would not, or
 * when the facts cannot be read.
 */
async function staysOn(
  connection: Connection,
  nodeName: string,
  pods: readonly Pod[],
): Promise<string | undefined> {
  const here = pods.find(({ labels }) => matches(operatorSelector, labels));
  if (here === undefined) return undefined;
  const lists = await Promise.all(
    [`/api/v1/namespaces/${pathSegment(here.namespace)}/pods`, '/api/v1/nodes'].map(path =>
      connection.call({
        method: 'GET',
        path,
        ...(path.endsWith('/pods') && { query: operatorPods }),
      }),
    ),
  );
  if (lists.some(({ status }) => status !== 200)) return undefined;
  const [replicas = [], nodes = []] = lists.map(
    ({ body }) => (body as { readonly items: readonly unknown[] }).items,
  );
  return stayingOn(nodeName, {
    pods: replicas.map(readOperatorPod),
    nodes: nodes.map(readNode),
    wanted: new Set(),
  });
}

async function knownOf(
  connection: Connection,
  nodeName: string,
  kinds: readonly KindAdapter[],
): Promise<WhyInputs> {
  const [requests, { now, ...drainInputs }] = await Promise.all([
    requestsOf(connection, kinds, nodeName),
    drainInputsAt(connection, nodeName),
  ]);
  const usual = { ...seedPolicy, force: false, deleteEmptyDirData: false };
  const stays =
    requests.length > 0 ? undefined : await staysOn(connection, nodeName, drainInputs.pods);
  return {
    nodeName,
    requests,
    imagined: drainRequest(nodeName, usual, now),
    drainInputs,
    now,
    ...(stays !== undefined && { stays }),
  };
}

/**
 * `drydock why NODE|POD`: prints the blockers in one paragraph, with a remedy. Throws an ApiError
 * in kubectl's words for a missing object.
 */
export function why(text: string, flags: WhyFlags, env: Env): Promise<void> {
  return withCluster(flags, env, async connection => {
    const kinds = await kindsOf(connection, env);
    const { nodeName, pod } = await find(
      connection,
      targetOf(text, flags.namespace ?? connection.namespace),
      kinds,
    );
    if (pod !== undefined && nodeName === '') {
      plainOutput.line(`Pod ${pod.key} is on no node: it waits for the scheduler.`);
      return;
    }
    const known = await knownOf(connection, nodeName, kinds);
    const { node } = known.drainInputs;
    if (pod !== undefined) plainOutput.line(whyPod(pod, known));
    else
      plainOutput.line(
        [
          whyNode(known),
          ...(node === undefined ? [] : await plansAbout(connection, node, known.requests)),
        ].join(' '),
      );
  });
}
