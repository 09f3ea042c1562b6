import { readBudget } from '../core/drain/budget.ts';
import type { Glance } from '../core/phase/glance.ts';
import { readPod } from '../core/pod/pod.ts';
import { listAll } from '../operator/list.ts';
import type { Api } from '../operator/ports.ts';

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
