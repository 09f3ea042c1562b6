import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { MaintenanceStatus } from '@drydock/apis/schema';
import { Hooks } from '../conformance/hook.ts';
import { create, getNode, nodePath } from '../control-plane/objects/cluster.ts';
import { namespace } from '../control-plane/objects/manifests.ts';
import { freePorts } from '../control-plane/processes/ports.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { type OperatorHarness, skipOf, startHarness } from './harness/harness.ts';
import {
  getPod,
  maintenance,
  maintenancePath,
  makeNode,
  podAt,
  untilMaintenance,
  untilPods,
} from './harness/look.ts';

/**
 * Policies and webhooks of others that do not let Drydock's calls pass: who it is is told, and the
 * drain goes on soon after it has ended.
 */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

type Blocker = NonNullable<MaintenanceStatus['blockers']>[number];

const registration = '/apis/admissionregistration.k8s.io/v1';
const evictions = [
  { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods/eviction'] },
];

describe('a drain that policies or webhooks refuse', {
  skip,
  concurrency: 8,
  timeout: 180_000,
}, () => {
  const { api } = harness;
  let hooks: Hooks;
  const inNamespace = (name: string): object => ({
    matchLabels: { 'kubernetes.io/metadata.name': name },
  });

  /** A node with one pod, whose evictions this policy or webhook is asked about. */
  const prepare = async (
    name: string,
    guard: () => Promise<void>,
    isGuarded: () => Promise<boolean>,
  ): Promise<void> => {
    await makeNode(api, name);
    await create(api, namespace(name), podAt(name, 'one', { namespace: name }));
    await untilPods(api, name, 1);
    await guard();
    await until(`evictions in ${name} to be refused`, isGuarded);
    await create(api, maintenance(name));
  };

  const tried = async (name: string): Promise<string> => {
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'one' } };
    const { status, body } = await api.call(
      'POST',
      `/api/v1/namespaces/${name}/pods/one/eviction?dryRun=All`,
      eviction,
    );
    return `${status} ${JSON.stringify(body)}`;
  };

  const blockerOf = (name: string): Promise<Blocker> =>
    waitFor(`a blocker of ${name}`, async () => {
      const { status } = await api.get<{ readonly status?: MaintenanceStatus }>(
        maintenancePath(name),
      );
      const [blocker] = status?.blockers ?? [];
      return blocker === undefined ? { yet: JSON.stringify(status) } : { done: blocker };
    });

  /** Seconds until the drain has gone on after this. */
  const secondsAfter = async (name: string, ended: () => Promise<unknown>): Promise<number> => {
    await ended();
    const since = performance.now();
    await untilMaintenance(api, name, 'Drained');
    return (performance.now() - since) / 1000;
  };

  const bindPolicy = async (name: string, spec: object): Promise<void> => {
    await api.post(`${registration}/validatingadmissionpolicies`, { metadata: { name }, spec });
    await api.post(`${registration}/validatingadmissionpolicybindings`, {
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    });
  };
  const unbind = (name: string): Promise<unknown> =>
    api.delete(`${registration}/validatingadmissionpolicybindings/${name}`);

  const register = (name: string, clientConfig: object): Promise<unknown> =>
    api.post(`${registration}/validatingwebhookconfigurations`, {
      metadata: { name },
      webhooks: [
        {
          name: `${name}.shop.example.test`,
          clientConfig,
          rules: evictions,
          failurePolicy: 'Fail',
          sideEffects: 'None',
          timeoutSeconds: 2,
          admissionReviewVersions: ['v1'],
          namespaceSelector: inNamespace(name),
        },
      ],
    });

  before(async () => {
    hooks = await Hooks.start(harness.controlPlane.folder);
    await harness.startOperator();
  });
  after(async () => {
    await harness.stop();
    await hooks.stop();
  });

  for (const reason of ['Invalid', 'Forbidden', 'RequestEntityTooLarge']) {
    const name = `policy-${reason.toLowerCase()}`;
    test(`by a policy with the reason ${reason}`, async () => {
      const validations = [
        { expression: 'false', message: 'month-end closing: ask #ledger-oncall', reason },
      ];
      const matchConstraints = { resourceRules: evictions, namespaceSelector: inNamespace(name) };
      await prepare(
        name,
        () => bindPolicy(name, { matchConstraints, validations }),
        async () => (await tried(name)).includes('denied request'),
      );
      const { reason: blockedBy, message, remedy } = await blockerOf(name);
      assert.equal(blockedBy, 'AdmissionDenied');
      assert.equal(
        message,
        `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: month-end closing: ask #ledger-oncall`,
      );
      assert.match(remedy ?? '', /owner of the webhook or policy/);
      assert.ok((await secondsAfter(name, () => unbind(name))) < 20);
    });
  }

  for (const code of [401, 404, 409, 422, 429, 500]) {
    const name = `webhook-${code}`;
    test(`by a webhook with the code ${code}`, async () => {
      let allowed = false;
      const status = {
        code,
        message: 'the partition has no other replica',
        details: { kind: 'pods', name: 'one', retryAfterSeconds: 3 },
      };
      const clientConfig = hooks.at(`/${name}`, () => ({
        response: allowed ? { allowed } : { allowed, status },
      }));
      await prepare(
        name,
        async () => void (await register(name, clientConfig)),
        async () => (await tried(name)).startsWith(`${code} `),
      );
      const { reason: blockedBy, message } = await blockerOf(name);
      assert.deepEqual(
        [blockedBy, message],
        [
          'AdmissionDenied',
          `admission webhook "${name}.shop.example.test" denied the request: the partition has no other replica`,
        ],
      );
      assert.ok(
        (await getPod(api, name, 'one')) !== undefined,
        'the pod is there, and known to be',
      );
      assert.ok((await secondsAfter(name, async () => (allowed = true))) < 20);
    });
  }

  test('by a webhook that does not answer, until it is repaired', async () => {
    const name = 'unanswered';
    const [closed = 0] = await freePorts(1);
    const working = hooks.at(`/${name}`, () => ({ response: { allowed: true } })) as {
      readonly url: string;
    };
    await prepare(
      name,
      async () => void (await register(name, { ...working, url: `https://127.0.0.1:${closed}/` })),
      async () => (await tried(name)).includes('failed calling webhook'),
    );
    const { reason: blockedBy, message, remedy } = await blockerOf(name);
    assert.equal(blockedBy, 'EvictionFailed');
    assert.match(
      message,
      /^webhook unanswered\.shop\.example\.test does not answer: failed to call webhook: .*(?:connection refused|ECONNREFUSED 127\.0\.0\.1:\d+)$/,
    );
    assert.match(remedy ?? '', /repair the webhook .* failurePolicy/);
    const patch = [{ op: 'replace', path: '/webhooks/0/clientConfig/url', value: working.url }];
    const repair = () =>
      api.call(
        'PATCH',
        `${registration}/validatingwebhookconfigurations/${name}`,
        patch,
        'application/json-patch+json',
      );
    assert.ok((await secondsAfter(name, repair)) < 12);
  });

  test('by a policy that keeps its node from being held', async () => {
    const name = 'uncordonable';
    await makeNode(api, name);
    await bindPolicy(name, {
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] },
        ],
      },
      matchConditions: [{ name: 'this-node', expression: `request.name == '${name}'` }],
      validations: [
        {
          expression: '!has(object.spec.taints) && !has(object.spec.unschedulable)',
          message: 'ask the platform team',
        },
      ],
    });
    await until('cordons to be refused', async () => {
      const { status } = await api.call(
        'PATCH',
        `${nodePath(name)}?dryRun=All`,
        { spec: { unschedulable: true } },
        'application/merge-patch+json',
      );
      return status === 422;
    });
    await create(api, maintenance(name));
    await waitFor('the refusal to be told', async () => {
      const text = JSON.stringify(await api.get(maintenancePath(name)));
      const wanted = `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: ask the platform team`;
      return text.includes(wanted) ? { done: undefined } : { yet: text };
    });
    assert.equal((await getNode(api, name)).spec.unschedulable, undefined);
    assert.ok((await secondsAfter(name, () => unbind(name))) < 20);
  });
});
