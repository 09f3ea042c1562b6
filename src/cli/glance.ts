import { type Budget, readBudget } from '../core/drain/budget.ts';
import { noNotes, type Picture } from '../core/phase/picture.ts';
import { type Pod, readPod } from '../core/pod/pod.ts';
import type { Request } from '../core/request/request.ts';
import { listAll } from '../operator/list.ts';
import type { Api } from '../operator/ports.ts';

/** What a drain of one node looks at, read once. */
export type Glance = {
  readonly pods: readonly Pod[];
  readonly budgets: readonly Budget[];
  /** `namespace/name`. */
  readonly daemonSets: ReadonlySet<string>;
};

const nameOf = (raw: unknown): string => {
  const { metadata } = raw as { readonly metadata: { readonly namespace: string; readonly name: string } };
  return `${metadata.namespace}/${metadata.name}`;
};

/** Reads the pods of a node, the budgets of their namespaces and the DaemonSets. Throws an error that says what could not be read. */
export const glanceAt = async (api: Api, nodeName: string): Promise<Glance> => {
  const pods = (await listAll(api, '/api/v1/pods', { fieldSelector: `spec.nodeName=${nodeName}` })).map(readPod);
  const namespaces = [...new Set(pods.map(({ namespace }) => namespace))];
  const budgets = await Promise.all(
    namespaces.map(namespace => listAll(api, `/apis/policy/v1/namespaces/${encodeURIComponent(namespace)}/poddisruptionbudgets`)),
  );
  const daemonSets = await listAll(api, '/apis/apps/v1/daemonsets');
  return { pods, budgets: budgets.flat().map(readBudget), daemonSets: new Set(daemonSets.map(nameOf)) };
};

/** The picture that one request's drain would see, with nothing asked for yet. */
export const pictureOf = (request: Request, { pods, budgets, daemonSets }: Glance): Picture => ({
  nodeName: request.nodeName,
  requests: [request],
  pods,
  podsConfirmed: true,
  budgets,
  daemonSets,
  leases: new Map(),
  attachments: [],
  volumes: new Map(),
  attempts: new Map(),
  flights: [],
  notes: noNotes,
  dialects: [request.dialect],
  missingKinds: new Set(),
  terms: { durationSeconds: 0, renewEverySeconds: 0 },
});
