import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Manifest } from '../install/install-locate.ts';
import { manifests } from '../install/inventory.ts';
import { defaultNamespace, defaultParts } from '../install/rollout.ts';
import { checkAll } from './checks.ts';
import { covers, missingRights } from './covers.ts';
import type { FlowSchema, InstallationFacts, InstalledWorkload } from './facts.ts';

const wanted = manifests({
  parts: new Set([...defaultParts, 'machine-api']),
  groups: [],
  namespace: defaultNamespace,
});

/** As the API server and the operator have completed it. */
function stored(manifest: Manifest): Manifest {
  if (manifest.kind !== 'ValidatingWebhookConfiguration') return { ...manifest, status: {} };
  const webhooks = manifest['webhooks'] as readonly { readonly clientConfig: object }[];
  return {
    ...manifest,
    webhooks: webhooks.map(one => ({
      ...one,
      clientConfig: { ...one.clientConfig, caBundle: 'LS0t' },
    })),
  };
}

const operator: InstalledWorkload = {
  ...(wanted.find(({ kind }) => kind === 'Deployment') as unknown as InstalledWorkload),
  status: { readyReplicas: 2 },
};

function schema(
  name: string,
  matchingPrecedence: number,
  level: string,
  subject: object,
): FlowSchema {
  return {
    metadata: { name },
    spec: {
      matchingPrecedence,
      priorityLevelConfiguration: { name: level },
      rules: [
        {
          subjects: [subject as never],
          resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
        },
      ],
    },
  };
}

const forAllPods = schema('service-accounts', 9000, 'workload-low', {
  kind: 'Group',
  group: { name: 'system:serviceaccounts' },
});
const ours = schema('drydock', 1000, 'workload-high', {
  kind: 'ServiceAccount',
  serviceAccount: { namespace: defaultNamespace, name: 'drydock' },
});

/** An installation without a fault. */
const well: InstallationFacts = {
  version: '0.1.0',
  release: { version: 'v1.37.2', minor: 37 },
  serverAhead: 0.4,
  namespace: defaultNamespace,
  wanted,
  found: new Map(wanted.map(manifest => [manifest, stored(manifest)])),
  workloads: [operator],
  flowSchemas: [forAllPods, ours],
  leaderSilentFor: 2,
  webhookService: 'drydock-webhook',
  webhookReplicas: 2,
  webhookTrial: { kind: 'refused' },
  unread: [],
};

/** The operator with one argument more. */
function told(arg: string): InstalledWorkload {
  return {
    ...operator,
    spec: {
      ...operator.spec,
      template: { spec: { containers: [{ image: 'drydock:0.1.0', args: ['operator', arg] }] } },
    },
  };
}

/** `name severity: message` of all that is found. */
function said(facts: Partial<InstallationFacts>): readonly string[] {
  return checkAll({ ...well, ...facts }).flatMap(({ name, findings }) =>
    findings.map(({ severity, message }) => `${name} ${severity}: ${message}`),
  );
}

/** Without, or with another one in its place. */
function foundBut(
  name: string,
  change: (here: Manifest) => Manifest | undefined,
  kind?: string,
): Partial<InstallationFacts> {
  const found = new Map(well.found);
  let changed = 0;
  for (const [manifest, here] of well.found) {
    if (manifest.metadata.name !== name || (kind !== undefined && manifest.kind !== kind)) continue;
    changed += 1;
    const after = change(here);
    if (after === undefined) found.delete(manifest);
    else found.set(manifest, after);
  }
  assert.equal(changed, 1, `one ${name}`);
  return { found };
}

function workload(
  name: string,
  image: string,
  over: Partial<InstalledWorkload['spec']> = {},
  kind = 'Deployment',
): InstalledWorkload {
  return {
    kind,
    metadata: { namespace: 'others', name },
    spec: { replicas: 1, template: { spec: { containers: [{ image }] } }, ...over },
  };
}

test('of an installation without a fault every check says what is well', () => {
  assert.deepEqual(said({}), []);
  assert.deepEqual(
    checkAll(well).map(({ name, well }) => `${name}: ${well ?? ''}`),
    [
      `kinds: ${wanted.filter(({ kind }) => kind === 'CustomResourceDefinition').length} CustomResourceDefinitions are of this version`,
      'operator: drydock-system/drydock runs, and one replica leads',
      'one operator: no other operator acts on the same objects',
      'webhook: asked by a dry run, it refused what it has to refuse',
      'rights: the roles are those of this version',
      `admission policies: ${wanted.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy').length} ValidatingAdmissionPolicies are of this version`,
      'clocks: this machine and the API server agree about the time',
      "API priority: the operator's calls are of priority level workload-high",
    ],
  );
});

function withSpec(change: object) {
  return (here: Manifest): Manifest => ({
    ...here,
    spec: { ...(here['spec'] as object), ...change },
  });
}

describe('what is wrong is found, by itself', () => {
  const rows: readonly (readonly [what: string, Partial<InstallationFacts>, ...said: string[]])[] =
    [
      [
        'a kind is missing',
        foundBut('maintenances.drydock.dev', () => undefined),
        'kinds Error: CustomResourceDefinition maintenances.drydock.dev is not installed',
      ],
      [
        'a kind is of another version',
        foundBut('maintenances.drydock.dev', withSpec({ versions: [] })),
        'kinds Warning: CustomResourceDefinition maintenances.drydock.dev is of another version than this command (0.1.0)',
      ],
      [
        'there is no operator',
        { workloads: [] },
        'operator Error: no operator is installed: maintenances are stored, but not carried out',
      ],
      [
        'none of its replicas is ready',
        { workloads: [{ ...operator, status: {} }] },
        'operator Error: Deployment drydock-system/drydock has no replica that is ready',
      ],
      [
        'its pods are refused',
        {
          workloads: [
            {
              ...operator,
              status: {
                conditions: [
                  {
                    type: 'ReplicaFailure',
                    status: 'True',
                    reason: 'FailedCreate',
                    message: 'failed quota: compute: must specify limits.cpu',
                  },
                ],
              },
            },
          ],
        },
        'operator Error: Deployment drydock-system/drydock has no replica that is ready: pods are refused: failed quota: compute: must specify limits.cpu',
      ],
      [
        'it is of another version',
        { version: '0.2.0' },
        'operator Warning: Deployment drydock-system/drydock runs drydock:0.1.0, and this command is 0.2.0',
      ],
      [
        'nobody has ever led',
        { leaderSilentFor: undefined } as never,
        'operator Error: no replica leads: there is no lease of a leader',
      ],
      [
        'nobody leads any more',
        { leaderSilentFor: 61 },
        'operator Error: no replica leads: the lease was last renewed 61 s ago',
      ],
      [
        'it is there twice',
        {
          workloads: [
            operator,
            { ...operator, metadata: { ...operator.metadata, namespace: 'other' } },
          ],
        },
        'one operator Error: Drydock is installed 2 times: drydock-system/drydock, other/drydock',
      ],
      [
        'the operator of medik8s runs',
        {
          workloads: [
            operator,
            workload('nmo', 'quay.io/medik8s/node-maintenance-operator:v0.19.0'),
          ],
        },
        'one operator Error: Deployment others/nmo acts on the same objects as Drydock',
      ],
      [
        'the machine maintenance operator runs',
        {
          workloads: [
            operator,
            workload('mmo', 'registry.example/machine-maintenance-operator@sha256:00'),
          ],
        },
        'one operator Error: Deployment others/mmo acts on the same objects as Drydock',
      ],
      [
        'it does not run any more',
        { workloads: [operator, workload('nmo', 'node-maintenance-operator:1', { replicas: 0 })] },
      ],
      ['something else runs', { workloads: [operator, workload('web', 'nginx:1')] }],
      [
        'the webhook is not installed',
        foundBut('drydock', () => undefined, 'ValidatingWebhookConfiguration'),
        'webhook Warning: the webhook is not installed: errors of an object are reported only in its status',
      ],
      [
        'the webhook has no certificate',
        foundBut(
          'drydock',
          here => ({ ...here, webhooks: [{ name: 'v.example', clientConfig: {} }] }),
          'ValidatingWebhookConfiguration',
        ),
        'webhook Error: ValidatingWebhookConfiguration drydock has no certificate authority for v.example: every create of a maintenance is refused',
      ],
      [
        'the operator is told not to serve the webhook, which is there',
        { workloads: [told('--webhook-port=0')] },
        'webhook Error: Deployment drydock-system/drydock runs with --webhook-port=0, but ValidatingWebhookConfiguration drydock is there: every create of a maintenance is refused',
      ],
      [
        'the webhook does not answer, although its replicas are ready',
        {
          webhookTrial: {
            kind: 'failed',
            why: 'failed calling webhook "vnodemaintenance.kb.io": x509',
          },
        },
        'webhook Error: it does not answer, and every create of a maintenance is refused: failed calling webhook "vnodemaintenance.kb.io": x509',
      ],
      [
        'nobody asks the webhook',
        { webhookTrial: { kind: 'passed' } },
        'webhook Error: a NodeMaintenance of a node that does not exist was not refused (dry run): the API server does not ask the webhook, or ignores that it fails',
      ],
      [
        'the webhook could not be tried',
        { webhookTrial: { kind: 'untried', why: 'nodemaintenances is forbidden' } },
        'webhook Warning: it could not be tried, so nobody knows whether it answers: nodemaintenances is forbidden',
      ],
      [
        'nobody answers the webhook',
        { webhookReplicas: 0, webhookTrial: { kind: 'untried', why: 'no' } },
        'webhook Error: no replica serves the webhook (Service drydock-system/drydock-webhook): every create of a maintenance is refused',
        'webhook Warning: it could not be tried, so nobody knows whether it answers: no',
      ],
      [
        'a role is missing',
        foundBut('drydock-operator', () => undefined, 'ClusterRole'),
        'rights Error: ClusterRole drydock-operator is missing',
      ],
      [
        'a role lacks rights',
        foundBut(
          'drydock-operator',
          here => ({ ...here, rules: (here['rules'] as readonly unknown[]).slice(1) }),
          'ClusterRole',
        ),
        'rights Error: ClusterRole drydock-operator lacks rights: get maintenances.drydock.dev, list maintenances.drydock.dev, watch maintenances.drydock.dev and 1 more',
      ],
      [
        'a role is bound to somebody else',
        foundBut(
          'drydock-operator',
          here => ({
            ...here,
            subjects: [{ kind: 'ServiceAccount', name: 'other', namespace: defaultNamespace }],
          }),
          'ClusterRoleBinding',
        ),
        'rights Error: ClusterRoleBinding drydock-operator is missing, or binds somebody else',
      ],
      [
        'deletions past budgets are not wanted',
        foundBut('drydock-pod-deletion', () => undefined, 'ClusterRoleBinding'),
      ],
      [
        'the clocks differ a little',
        { serverAhead: -6 },
        "clocks Warning: the clock of the API server is 6 s behind this machine's",
      ],
      ['the clocks differ less than a leader notices', { serverAhead: -5.9 }],
      [
        'the clocks differ by as much as a lease lasts',
        { serverAhead: 9 },
        "clocks Error: the clock of the API server is 9 s ahead of this machine's",
      ],
      [
        'the clocks differ',
        { serverAhead: 20 },
        "clocks Error: the clock of the API server is 20 s ahead of this machine's",
      ],
      ['the time of the server is not known', { serverAhead: undefined } as never],
      [
        'its calls are with those of all pods',
        { flowSchemas: [forAllPods] },
        "API priority Warning: the operator's calls are of priority level workload-low, with those of every pod: on an API server that is overloaded by them its lease is not renewed in time",
      ],
      ['priorities may not be read', { flowSchemas: [] }],
    ];
  for (const [what, facts, ...expected] of rows)
    test(what, () => assert.deepEqual(said(facts), expected));
});

test('a policy that is missing, or is of another version, is named', () => {
  const policies = wanted.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy');
  const name = policies[0]?.metadata.name ?? '';
  assert.deepEqual(said(foundBut(name, () => undefined, 'ValidatingAdmissionPolicy')), [
    `admission policies Warning: ValidatingAdmissionPolicy ${name} is missing`,
  ]);
  assert.deepEqual(
    said(foundBut(name, withSpec({ validations: [] }), 'ValidatingAdmissionPolicy')),
    [`admission policies Warning: ValidatingAdmissionPolicy ${name} is of another version`],
  );
});

test('where OLM has installed the operator, nothing else is to be applied but what comes before it', () => {
  const remedies = checkAll({ ...well, olm: 'olm-1', found: new Map() }).flatMap(({ findings }) =>
    findings.map(({ remedy }) => remedy),
  );
  assert.ok(remedies.length > 20);
  assert.deepEqual(
    remedies.filter(
      remedy =>
        !/OLM has installed .* apply drydock-olm-1-prerequisites-0\.1\.0\.yaml/.test(remedy),
    ),
    [],
  );
});

test('every finding says what to do', () => {
  const all = checkAll({
    ...well,
    found: new Map(),
    workloads: [],
    flowSchemas: [],
    leaderSilentFor: 100,
    webhookReplicas: 0,
    serverAhead: 99,
  });
  const findings = all.flatMap(({ findings }) => findings);
  assert.ok(findings.length > 20);
  for (const { remedy } of findings) assert.ok(remedy.length > 10);
});

describe('covers', () => {
  const rows: readonly (readonly [have: unknown, want: unknown, expected: boolean])[] = [
    [{ a: 1, b: 2 }, { a: 1 }, true],
    [{ a: 1 }, { a: 1, b: undefined }, true],
    [{ a: 1 }, { a: 2 }, false],
    [{}, { a: 1 }, false],
    [undefined, { a: 1 }, false],
    [[{ a: 1, default: true }], [{ a: 1 }], true],
    [[1, 2], [1], false],
    [{ length: 1 }, [1], false],
  ];
  for (const [have, want, expected] of rows)
    test(`${JSON.stringify(have)} ${expected ? 'has' : 'lacks'} ${JSON.stringify(want)}`, () =>
      assert.equal(covers(have, want), expected));
});

describe('missing rights', () => {
  const want = [{ apiGroups: ['', 'apps'], resources: ['pods'], verbs: ['get', 'patch'] }];
  const named = [
    { apiGroups: [''], resources: ['secrets'], resourceNames: ['one'], verbs: ['get'] },
  ];
  const rows: readonly (readonly [
    what: string,
    Parameters<typeof missingRights>[0],
    Parameters<typeof missingRights>[1],
    readonly string[],
  ])[] = [
    ['the same', want, want, []],
    ['everything', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }], [...want, ...named], []],
    [
      'a verb less',
      [{ apiGroups: ['', 'apps'], resources: ['pods'], verbs: ['get'] }],
      want,
      ['patch pods', 'patch pods.apps'],
    ],
    ['nothing', [], want, ['get pods', 'get pods.apps', 'patch pods', 'patch pods.apps']],
    [
      'for one name only',
      named,
      [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }],
      ['get secrets'],
    ],
    ['for all names', [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }], named, []],
    [
      'for another name',
      [{ ...named[0], resourceNames: ['two'], verbs: ['get'] }],
      named,
      ['get secrets'],
    ],
  ];
  for (const [what, have, wanted, expected] of rows)
    test(what, () => assert.deepEqual(missingRights(have, wanted), expected));
});
