import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maintenance } from '@drydock/apis';
import { drainBehaviorOf, type FilterContext } from '@drydock/core/drain';
import { type Pod, readPod } from '@drydock/core/pod';
import type { Manifest } from './install-locate.ts';
import { manifests } from './inventory.ts';
import { defaultNamespace, defaultParts, extraParts } from './rollout.ts';

/**
 * Drydock's own pods stand on nodes as well: none of them may keep its node from being drained by a
 * maintenance that says nothing of pods.
 */

type Template = { readonly metadata: object; readonly spec: object };

/** What runs the pods: a ReplicaSet of its own for a Deployment, itself for all others. */
function ownerOf({ kind, metadata }: Manifest): object {
  const own =
    kind === 'Deployment'
      ? { kind: 'ReplicaSet', name: `${metadata.name}-1` }
      : { kind, name: metadata.name };
  return { apiVersion: 'apps/v1', ...own, uid: metadata.name, controller: true };
}

function templateOf(manifest: Manifest): Template | undefined {
  return (manifest['spec'] as { readonly template?: Template } | undefined)?.template;
}

function podsOf(manifest: Manifest): readonly Pod[] {
  const template = templateOf(manifest);
  if (template === undefined) return [];
  const { name, namespace } = manifest.metadata;
  const metadata = {
    ...template.metadata,
    name: `${name}-1`,
    namespace,
    uid: name,
    resourceVersion: '1',
  };
  return [
    readPod({ ...template, metadata: { ...metadata, ownerReferences: [ownerOf(manifest)] } }),
  ];
}

test('no shipped pod is refused by the policy of a maintenance that says nothing of pods, or has data that could be lost', () => {
  const all = manifests({
    parts: new Set([...defaultParts, ...extraParts]),
    groups: [],
    namespace: defaultNamespace,
  });
  const pods = all.flatMap(podsOf);
  const request = maintenance('medik8s-leases').read({
    metadata: {
      name: 'n1',
      uid: '1',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: { nodeName: 'n1' },
  });
  assert.ok(typeof request !== 'string');
  const filterContext: FilterContext = {
    now: Temporal.Instant.from('2026-01-01T00:00:00Z'),
    daemonSets: new Set(
      all
        .filter(({ kind }) => kind === 'DaemonSet')
        .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    ),
    vmPods: new Map(),
  };
  const behaviors = pods.map(
    pod =>
      `${pod.key}: ${drainBehaviorOf(pod, request.policy, filterContext).behavior}${pod.localData ? ', local data' : ''}`,
  );
  assert.deepEqual(behaviors.sort(), [
    'drydock-agent/drydock-agent-1: ignore',
    'drydock-system/drydock-1: evict',
  ]);
});
