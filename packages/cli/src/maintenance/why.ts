import { isMissing, matches, pathSegment } from '@drydock/apimachinery';
import { seedPolicy } from '@drydock/core/drain';
import {
  operatorPods,
  operatorSelector,
  readOperatorPod,
  stayingOn,
} from '@drydock/core/maintenance';
import { readNode } from '@drydock/core/node';
import { type Pod, readPod } from '@drydock/core/pod';
import type { KindAdapter } from '@drydock/core/request';
import { drainRequest } from '@drydock/core/request';
import type { ApiResponse, Connection } from '@drydock/kube-client';
import { kindsOf } from '@drydock/operator/discovery';
import type { Env } from '@drydock/utils';
import { UsageError } from '@drydock/utils';
import { plansAbout } from '../plan/why-plans.ts';
import { ApiError, refusedError } from '../shared/api-error.ts';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { drainInputsAt } from '../shared/drain-inputs.ts';
import { nodePath } from '../shared/nodes.ts';
import { plainOutput } from '../shared/output.ts';
import { requestsOf } from '../shared/requests.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { type WhyInputs, whyNode, whyPod } from './why-words.ts';

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
  const answer = await get(connection, `/api/v1/namespaces/${pathSegment(namespace)}`);
  if (answer.status === 404)
    throw new ApiError(
      `${refusedError(answer).message}; kubectl get namespaces lists the namespaces`,
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
  const answer = await get(connection, podPath(target.namespace, target.name));
  if (answer.status === 404) await refuseMissingNamespace(connection, target.namespace);
  if (target.kind === 'either' && answer.status === 404) {
    throw new ApiError(
      `error: there is no node "${target.name}", and no pod of that name in namespace "${target.namespace}"`,
    );
  }
  if (answer.status !== 200) throw refusedError(answer);
  const pod = readPod(answer.body);
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
