import { readNode } from '../../core/hold/node.ts';
import { type Pod, readPod } from '../../core/pod/pod.ts';
import { drainRequest } from '../../core/request/ad-hoc.ts';
import { seedPolicy } from '../../core/request/policy.ts';
import type { Connection } from '../../kube/connect.ts';
import type { ApiResponse } from '../../operator/ports.ts';
import type { Env } from '../../support/env.ts';
import { plansAbout } from '../plan/why-plans.ts';
import { ApiError, refusedError } from '../shared/api-error.ts';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { drainInputsAt } from '../shared/drain-inputs.ts';
import { UsageError } from '../shared/fail.ts';
import { kindsOf } from '../shared/kinds.ts';
import { nodePath } from '../shared/nodes.ts';
import { requestsOf } from '../shared/requests.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { type WhyInputs, whyNode, whyPod } from './why-words.ts';

export type WhyFlags = ConnectionFlags & { readonly namespace?: string };

type Target =
  | { readonly kind: 'node'; readonly name: string }
  | { readonly kind: 'pod'; readonly namespace: string; readonly name: string }
  /** Just a name: a node's, or else a pod's. */
  | { readonly kind: 'either'; readonly namespace: string; readonly name: string };

/** `NODE`, `POD`, `node/NODE`, `pod/POD` or `NAMESPACE/POD`. Throws a UsageError for anything else. */
export const targetOf = (text: string, namespace: string): Target => {
  const [first = '', second, ...rest] = text.split('/');
  if (rest.length > 0 || first === '' || second === '')
    throw new UsageError(`"${text}" is neither a node nor a pod; use NODE, POD or NAMESPACE/POD`);
  if (second === undefined) return { kind: 'either', namespace, name: first };
  if (['node', 'nodes', 'no'].includes(first)) return { kind: 'node', name: second };
  if (['pod', 'pods', 'po'].includes(first)) return { kind: 'pod', namespace, name: second };
  return { kind: 'pod', namespace: first, name: second };
};

const get = (connection: Connection, path: string): Promise<ApiResponse> => connection.call({ method: 'GET', path });

const podPath = (namespace: string, name: string): string =>
  `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;

/** A pod is not found either where its whole namespace is missing, and then that is what has to be told. */
const refuseMissingNamespace = async (connection: Connection, namespace: string): Promise<void> => {
  const answer = await get(connection, `/api/v1/namespaces/${encodeURIComponent(namespace)}`);
  if (answer.status === 404) throw new ApiError(`${refusedError(answer).message}; kubectl get namespaces lists the namespaces`);
};

type Found = { readonly nodeName: string; readonly pod?: Pod };

const find = async (connection: Connection, target: Target): Promise<Found> => {
  if (target.kind !== 'pod') {
    const node = await get(connection, nodePath(target.name));
    if (node.status === 200) return { nodeName: target.name };
    if (target.kind === 'node' || node.status !== 404) throw refusedError(node);
  }
  const answer = await get(connection, podPath(target.namespace, target.name));
  if (answer.status === 404) await refuseMissingNamespace(connection, target.namespace);
  if (target.kind === 'either' && answer.status === 404) {
    throw new ApiError(`error: there is no node "${target.name}", and no pod of that name in namespace "${target.namespace}"`);
  }
  if (answer.status !== 200) throw refusedError(answer);
  const pod = readPod(answer.body);
  return { nodeName: pod.nodeName, pod };
};

const knownOf = async (connection: Connection, nodeName: string, env: Env): Promise<WhyInputs> => {
  const node = await get(connection, nodePath(nodeName));
  if (node.status !== 200) throw refusedError(node);
  const [requests, drainInputs] = await Promise.all([
    requestsOf(connection, await kindsOf(connection, env), nodeName),
    drainInputsAt(connection, nodeName),
  ]);
  const now = Temporal.Now.instant();
  const usual = { ...seedPolicy, force: false, deleteEmptyDirData: false };
  return { node: readNode(node.body), requests, imagined: drainRequest(nodeName, usual, now), drainInputs, now };
};

/** `drydock why NODE|POD`: what blocks, in one paragraph, with the remedy. Throws an ApiError in kubectl's words for what is not there. */
export const why = (text: string, flags: WhyFlags, env: Env): Promise<void> =>
  withCluster(flags, env, async connection => {
    const { nodeName, pod } = await find(connection, targetOf(text, flags.namespace ?? connection.namespace));
    if (pod !== undefined && nodeName === '') {
      process.stdout.write(`Pod ${pod.key} is on no node: it waits for the scheduler.\n`);
      return;
    }
    const known = await knownOf(connection, nodeName, env);
    if (pod !== undefined) process.stdout.write(`${whyPod(pod, known)}\n`);
    else process.stdout.write(`${[whyNode(known), ...(await plansAbout(connection, known.node))].join(' ')}\n`);
  });
