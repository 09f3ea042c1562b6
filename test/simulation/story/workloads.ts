import type { JsonObject } from '@drydock/apimachinery';
import type { Dice } from './dice.ts';
import type { BudgetPlan, VmPlan, Workload } from './story.ts';

/** What runs in the clusters of stories. */

const resources = {
  Deployment: 'deployments.apps',
  StatefulSet: 'statefulsets.apps',
  DaemonSet: 'daemonsets.apps',
  Job: 'jobs.batch',
  Pod: 'pods',
} as const;
type Kind = keyof typeof resources;

/** How its kubelet treats it, and what it has. */
function podOf(dice: Dice, labels: JsonObject, restart: boolean): JsonObject {
  return {
    metadata: {
      labels,
      annotations: {
        ...(dice.is(15) && { 'drydock.test/gone-after': `${dice.whole(2, 40)}s` }),
        ...(dice.is(10) && { 'drydock.test/ready-after': `${dice.whole(1, 30)}s` }),
        ...(dice.is(4) && { 'drydock.test/never-gone': 'true' }),
        ...(!restart && { 'drydock.test/done-after': `${dice.whole(20, 400)}s` }),
      },
    },
    spec: {
      containers: [{ name: 'main', image: 'example.test/none:1' }],
      ...(dice.is(25) && { volumes: [{ name: 'scratch', emptyDir: {} }] }),
      ...(dice.is(20) && { priorityClassName: 'high' }),
      ...(dice.is(20) && { terminationGracePeriodSeconds: dice.whole(1, 60) }),
      ...(!restart && { restartPolicy: 'Never' }),
    },
  };
}

function draftOf(dice: Dice, kind: Kind, name: string, namespace: string): JsonObject {
  const labels = { app: name, tier: dice.of(['front', 'back']) };
  const template = podOf(dice, labels, kind !== 'Job');
  const metadata = { name, namespace };
  const selector = { matchLabels: { app: name } };
  if (kind === 'Pod')
    return {
      metadata: { ...(template['metadata'] as JsonObject), ...metadata },
      spec: template['spec'],
    };
  if (kind === 'Job')
    return {
      metadata,
      spec: { template, completions: dice.whole(1, 2), parallelism: 2, backoffLimit: 6 },
    };
  if (kind === 'DaemonSet') return { metadata, spec: { selector, template } };
  const scale = { replicas: dice.whole(1, 6), selector, template };
  return { metadata, spec: kind === 'StatefulSet' ? { ...scale, serviceName: name } : scale };
}

export function workloadsOf(dice: Dice): readonly Workload[] {
  return dice.times(dice.whole(2, 5), index => {
    const kind = dice.of<Kind>([
      'Deployment',
      'Deployment',
      'Deployment',
      'StatefulSet',
      'DaemonSet',
      'Job',
      'Pod',
    ]);
    const name = `w${index}`;
    const namespace = dice.of(['shop', 'bank']);
    return {
      resource: resources[kind],
      name,
      namespace,
      draft: draftOf(dice, kind, name, namespace),
    };
  });
}

function boundOf(dice: Dice): { readonly spec: JsonObject; readonly never: boolean } {
  return dice.of([
    { spec: { maxUnavailable: 1 }, never: false },
    { spec: { maxUnavailable: 1 }, never: false },
    { spec: { maxUnavailable: '30%' }, never: false },
    { spec: { minAvailable: 1 }, never: true },
    { spec: { minAvailable: '50%' }, never: true },
    { spec: { maxUnavailable: 0 }, never: true },
    { spec: { minAvailable: '100%' }, never: true },
  ]);
}

/** Now and then two for the same pods. */
export function budgetsFor(dice: Dice, workloads: readonly Workload[]): readonly BudgetPlan[] {
  return workloads.flatMap(({ name, namespace, resource }) => {
    if (resource === 'daemonsets.apps' || dice.is(30)) return [];
    const count = dice.is(8) ? 2 : 1;
    return dice.times(count, index => {
      const { spec, never } = boundOf(dice);
      const policy = dice.is(20) ? { unhealthyPodEvictionPolicy: 'AlwaysAllow' } : {};
      return {
        name: `${name}-${index}`,
        namespace,
        spec: { ...spec, ...policy, selector: { matchLabels: { app: name } } },
        never: never || count > 1 || resource === 'pods' || resource === 'jobs.batch',
      };
    });
  });
}

export function vmsOf(dice: Dice): readonly VmPlan[] {
  return dice.times(dice.whole(1, 5), index => {
    const name = `vm${index}`;
    const strategy = dice.of([
      undefined,
      'LiveMigrate',
      'LiveMigrate',
      'LiveMigrateIfPossible',
      'None',
      'External',
    ]);
    const annotations = {
      ...(dice.is(20) && { 'drydock.test/migration': dice.of(['fail', 'hang', '20s']) }),
      ...(dice.is(20) && { 'drydock.test/migratable': 'false' }),
    };
    const spec = {
      ...(strategy !== undefined && { evictionStrategy: strategy }),
      domain: { memory: { vmPod: dice.of(['64Mi', '2Gi', '8Gi']) }, devices: {} },
    };
    const template = { metadata: { labels: { app: name }, annotations }, spec };
    return {
      name,
      draft: { metadata: { name, namespace: 'shop' }, spec: { runStrategy: 'Always', template } },
    };
  });
}
