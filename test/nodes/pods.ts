import { writeFileSync } from 'node:fs';
import type { Api } from '../control-plane/objects/api.ts';
import { podPath } from '../control-plane/objects/cluster.ts';
import type { Manifest } from '../control-plane/objects/manifests.ts';
import { isReady, type Pod } from '../control-plane/objects/objects.ts';
import { waitFor } from '../control-plane/wait.ts';
import { workloadImage } from './images.ts';
import type { RealNode } from './node.ts';

/** Pods that are processes. */

export type Habits = {
  readonly namespace: string;
  /** How long it goes on after SIGTERM; `never`: it has to be killed. */
  readonly termSeconds?: number | 'never';
  readonly readySeconds?: number;
  readonly graceSeconds?: number;
  /** How long its preStop hook takes. */
  readonly preStopSeconds?: number;
  readonly onNode?: string;
  readonly finalizers?: readonly string[];
  readonly localData?: boolean;
  readonly tolerations?: readonly object[];
};

function container({
  termSeconds = 0,
  readySeconds = 0,
  preStopSeconds,
  localData = false,
}: Habits): object {
  return {
    name: 'main',
    image: workloadImage,
    env: [
      { name: 'TERM_SECONDS', value: String(termSeconds) },
      { name: 'READY_SECONDS', value: String(readySeconds) },
      ...(localData ? [{ name: 'DATA', value: '/data' }] : []),
    ],
    readinessProbe: { httpGet: { path: '/ready', port: 8080 }, periodSeconds: 1 },
    resources: { limits: { memory: '64Mi' } },
    ...(preStopSeconds === undefined
      ? {}
      : {
          lifecycle: {
            preStop: { exec: { command: ['/workload', 'sleep', String(preStopSeconds)] } },
          },
        }),
    ...(localData ? { volumeMounts: [{ name: 'data', mountPath: '/data' }] } : {}),
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
  };
}

/** As namespaces with restricted pod security want them. */
function specOf(habits: Habits): object {
  return {
    terminationGracePeriodSeconds: habits.graceSeconds ?? 30,
    containers: [container(habits)],
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 65_534,
      fsGroup: 65_534,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    ...(habits.localData === true ? { volumes: [{ name: 'data', emptyDir: {} }] } : {}),
    ...(habits.onNode === undefined
      ? {}
      : { nodeSelector: { 'kubernetes.io/hostname': habits.onNode } }),
    ...(habits.tolerations === undefined ? {} : { tolerations: habits.tolerations }),
  };
}

function metadataOf(
  name: string,
  { namespace, finalizers = [] }: Habits,
): Manifest['metadata'] & { finalizers: readonly string[] } {
  return {
    name,
    namespace,
    labels: { app: name },
    finalizers,
  };
}

/** A pod that nobody makes again. */
export function realPod(name: string, habits: Habits): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: metadataOf(name, habits),
    spec: specOf(habits),
  };
}

export function realDeployment(name: string, replicas: number, habits: Habits): Manifest {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: habits.namespace },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name }, finalizers: habits.finalizers ?? [] },
        spec: specOf(habits),
      },
    },
  };
}

export function realService(name: string, namespace: string): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace },
    spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }] },
  };
}

/**
 * A pod that a kubelet takes from its node's disk; the API server has a mirror of it, NAME-NODE.
 */
export function staticPod(node: RealNode, name: string, namespace: string): void {
  const { apiVersion, kind, spec } = realPod(name, { namespace });
  writeFileSync(
    node.path(`etc/kubernetes/manifests/${name}.json`),
    JSON.stringify({ apiVersion, kind, metadata: { name, namespace }, spec }),
  );
}

/** When what happened to a pod's process happened, by its own words. */
export type ProcessTimes = {
  readonly started?: number;
  readonly SIGTERM?: number;
  readonly ended?: number;
};

export function lifeIn(log: string): ProcessTimes {
  return Object.fromEntries(
    [...log.matchAll(/^(\S+Z) (started|SIGTERM|ended)$/gm)].map(([, at = '', what = '']) => [
      what,
      Date.parse(at),
    ]),
  );
}

/** Follows the log of a pod through its kubelet, until the process is gone. */
export async function lifeOf(api: Api, namespace: string, name: string): Promise<ProcessTimes> {
  const { status, body } = await api.call('GET', `${podPath(namespace, name)}/log?follow=true`);
  if (status !== 200) throw new Error(`no log of ${name}: ${status} ${JSON.stringify(body)}`);
  return lifeIn(String(body));
}

/** How often its container has been started again. */
export function restartsOf(pod: Pod): number {
  return (
    (pod.status as { readonly containerStatuses?: readonly { readonly restartCount: number }[] })
      .containerStatuses?.[0]?.restartCount ?? 0
  );
}

/** Waits until a pod is Ready. */
export function podReady(
  api: Api,
  namespace: string,
  name: string,
  deadlineMs = 30_000,
): Promise<Pod> {
  return waitFor(
    `pod ${name} to be Ready`,
    async () => {
      const pod = await api.get<Pod>(podPath(namespace, name));
      return isReady(pod) ? { done: pod } : { yet: JSON.stringify(pod.status).slice(0, 500) };
    },
    { deadlineMs },
  );
}

/** Waits until there is no such pod. */
export function podGone(
  api: Api,
  namespace: string,
  name: string,
  deadlineMs = 30_000,
): Promise<void> {
  return waitFor(
    `pod ${name} to be gone`,
    async () => {
      const { status } = await api.call('GET', podPath(namespace, name));
      return status === 404 ? { done: undefined } : { yet: String(status) };
    },
    { deadlineMs },
  );
}
