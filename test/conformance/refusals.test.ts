import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { admissionRefusal } from '@drydock/core';
import { classify, type EvictionOutcome } from '@drydock/core/drain';
import { freePorts } from '../control-plane/processes/ports.ts';
import { newest, wantedRelease } from '../control-plane/releases.ts';
import { startBoth } from './both.ts';
import { configMap, pod } from './cases/things.ts';
import type { Site } from './site.ts';

/**
 * What a real API server answers where policies and webhooks do not let evictions, deletions and
 * creations pass, with every code that they may choose; the embedded one too. Each answer has to be
 * read for what it is. DRYDOCK_TEST_UPDATE=1 records those of the real one for the unit tests of
 * the core.
 */

const both = await startBoth();
const skip = both.kind === 'left-out' ? `control plane left out: ${both.why}` : false;
const recording = join(
  import.meta.dirname,
  '..',
  '..',
  'packages',
  'core',
  'src',
  'drain',
  'outcome',
  'testing',
  'admission-answers.jsonl',
);

/** One answer of a real API server, as it is recorded. */
type Recorded = {
  readonly name: string;
  readonly call: string;
  readonly status: number;
  readonly retryAfter?: string;
  readonly body: unknown;
  readonly kind: EvictionOutcome['kind'];
  readonly by: string;
};

type Situation = {
  /** Of the object that is asked for. */
  readonly name: string;
  readonly kind: EvictionOutcome['kind'];
  readonly by: string;
  /** What the webhook `guard` says of it. */
  readonly status?: JsonObject;
};

const guard = 'guard.shop.example.test';
const interceptor = 'virt-launcher-eviction-interceptor.kubevirt.io';
const codes = [0, 200, 400, 401, 403, 404, 409, 410, 413, 418, 422, 429, 500, 503, 504];
const inPolicy = 'policy frozen (binding frozen)';

/** Texts, codes and causes of others, in the mouth of a webhook. */
const pretended: Readonly<Record<string, JsonObject>> = {
  'uid-of-another': {
    code: 409,
    message:
      'Operation cannot be fulfilled on Pod "p": the UID in the precondition (a) does not match the UID in record (b)',
  },
  'pod-gone': {
    code: 404,
    reason: 'NotFound',
    message: 'pods "p" not found',
    details: { kind: 'pods', name: 'p' },
  },
  'budget-spent': {
    code: 429,
    reason: 'TooManyRequests',
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    details: {
      causes: [
        {
          reason: 'DisruptionBudget',
          message: 'The disruption budget b needs 2 healthy pods and has 2 currently',
        },
      ],
      retryAfterSeconds: 86_400,
    },
  },
  'budget-behind': {
    code: 403,
    message: 'pdb disruptions allowed is negative',
    details: { kind: 'poddisruptionbudget', name: 'b' },
  },
  'two-budgets': {
    code: 500,
    message:
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
  },
  'namespace-going': {
    code: 403,
    message: 'is being terminated',
    details: { causes: [{ reason: 'NamespaceTerminating', message: 'x' }] },
  },
  'no-right': {
    code: 403,
    reason: 'Forbidden',
    message: 'pods "p" is forbidden: User "x" cannot create resource "pods/eviction"',
  },
  'vm-on-its-way': { code: 429, message: 'Eviction triggered evacuation of VMI "shop/vm"' },
  'vm-fixed': {
    code: 429,
    message: 'VMI vm is configured with an eviction strategy but is not live-migratable',
  },
  'vm-target': { code: 429, message: 'Eviction request for target Pod' },
  'kubevirt-quoted': {
    code: 429,
    message: `admission webhook "${interceptor}" denied the request: Eviction triggered evacuation of VMI "shop/vm"`,
  },
  'policy-quoted': {
    code: 422,
    message: "ValidatingAdmissionPolicy 'other' with binding 'other' denied request: no",
  },
  'broken-quoted': {
    code: 500,
    message: 'Internal error occurred: failed calling webhook "other.example.test": no',
  },
  'two-lines': {
    code: 403,
    message: '\nadmission webhook "other.example.test" denied the request: no',
  },
  endless: { code: 403, message: 'x'.repeat(100_000) },
};

const situations: readonly Situation[] = [
  ...codes.flatMap((code): readonly Situation[] => [
    {
      name: `code-${code}`,
      kind: 'denied',
      by: `webhook ${guard}`,
      status: { code, message: 'not while the shop is open' },
    },
    { name: `code-${code}-bare`, kind: 'denied', by: `webhook ${guard}`, status: { code } },
  ]),
  {
    name: 'code-404-reason',
    kind: 'denied',
    by: `webhook ${guard}`,
    status: { code: 404, reason: 'NotFound' },
  },
  { name: 'no-status', kind: 'denied', by: `webhook ${guard}` },
  ...Object.entries(pretended).map(
    ([name, status]): Situation => ({
      name: `as-${name}`,
      kind: 'denied',
      by: `webhook ${guard}`,
      status,
    }),
  ),
  ...['default', 'Invalid', 'Forbidden', 'RequestEntityTooLarge'].map(
    (reason): Situation => ({
      name: `policy-${reason.toLowerCase()}`,
      kind: 'denied',
      by: inPolicy,
    }),
  ),
  { name: 'policy-expression', kind: 'denied', by: inPolicy },
  ...['refused', 'hangs', 'certificate', 'service', 'nonsense', 'status'].map(
    (how): Situation => ({
      name: `broken-${how}`,
      kind: 'webhookFailed',
      by: `webhook ${how}.shop.example.test`,
    }),
  ),
  {
    name: 'mutating-denies',
    kind: 'denied',
    by: 'webhook says-no.shop.example.test',
    status: { code: 418, message: 'no' },
  },
  { name: 'mutating-broken', kind: 'webhookFailed', by: 'webhook is-away.shop.example.test' },
  {
    name: 'vm-moves',
    kind: 'evacuating',
    by: `webhook ${interceptor}`,
    status: pretended['vm-on-its-way'] ?? {},
  },
  {
    name: 'vm-cannot',
    kind: 'notMigratable',
    by: `webhook ${interceptor}`,
    status: pretended['vm-fixed'] ?? {},
  },
  {
    name: 'vm-arrives',
    kind: 'migrationTarget',
    by: `webhook ${interceptor}`,
    status: pretended['vm-target'] ?? {},
  },
  {
    name: 'vm-otherwise',
    kind: 'denied',
    by: `webhook ${interceptor}`,
    status: { code: 400, message: 'kubevirt failed getting the vmi' },
  },
];

const rules = [
  {
    apiGroups: [''],
    apiVersions: ['v1'],
    operations: ['CREATE'],
    resources: ['pods/eviction', 'configmaps'],
  },
  { apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['pods'] },
];
const registration = '/apis/admissionregistration.k8s.io/v1';

function inNamespace(at: Site): object {
  return { matchLabels: { 'kubernetes.io/metadata.name': at.namespace } };
}
type Side = 'real' | 'embedded';
/** The embedded API server has no webhooks that change objects. */
function situationsOf(side: Side): readonly Situation[] {
  return side === 'real'
    ? situations
    : situations.filter(({ name }) => !name.startsWith('mutating-'));
}
const calls = ['evict', 'delete', 'create'] as const;

/** Nobody listens on the one; whoever calls the other waits. */
type Ports = { readonly closed: number; readonly silent: number };

/** A webhook of these names only. */
function webhook(at: Site, name: string, condition: string, clientConfig: object): object {
  return {
    name,
    clientConfig,
    rules,
    failurePolicy: 'Fail',
    sideEffects: 'None',
    timeoutSeconds: 1,
    admissionReviewVersions: ['v1'],
    namespaceSelector: inNamespace(at),
    matchConditions: [{ name: 'its-own', expression: condition }],
  };
}

function isNamed(name: string): string {
  return `request.name == '${name}'`;
}

async function registerWebhooks(at: Site, side: Side, ports: Ports): Promise<void> {
  const answering = at.webhook(({ request }) => {
    if (request.name === 'broken-status') return { status: 503, text: 'upstream connect error' };
    if (request.name === 'broken-nonsense') return { response: { uid: 'other', allowed: true } };
    const status = situations.find(({ name }) => name === request.name)?.status;
    return { response: { allowed: false, ...(status !== undefined && { status }) } };
  }) as { readonly url: string; readonly caBundle: string };
  const broken = {
    refused: { ...answering, url: `https://127.0.0.1:${ports.closed}/` },
    hangs: { ...answering, url: `https://127.0.0.1:${ports.silent}/` },
    certificate: { url: answering.url },
    service: { service: { namespace: 'default', name: 'none', port: 443 } },
    nonsense: answering,
    status: answering,
  };
  const webhooks = [
    webhook(
      at,
      guard,
      "request.name.startsWith('code-') || request.name.startsWith('as-') || request.name == 'no-status'",
      answering,
    ),
    webhook(at, interceptor, "request.name.startsWith('vm-')", answering),
    ...Object.entries(broken).map(([how, client]) =>
      webhook(at, `${how}.shop.example.test`, isNamed(`broken-${how}`), client),
    ),
  ];
  await at.has(`${registration}/validatingwebhookconfigurations`, {
    metadata: { name: 'refusals' },
    webhooks,
  });
  if (side === 'embedded') return;
  const mutating = [
    webhook(at, 'says-no.shop.example.test', isNamed('mutating-denies'), answering),
    webhook(at, 'is-away.shop.example.test', isNamed('mutating-broken'), broken.refused),
  ];
  await at.has(`${registration}/mutatingwebhookconfigurations`, {
    metadata: { name: 'refusals' },
    webhooks: mutating,
  });
}

async function bindPolicy(at: Site): Promise<void> {
  const reasons = ['Invalid', 'Forbidden', 'RequestEntityTooLarge'];
  const validations = [
    { expression: "request.name != 'policy-default'", message: 'not while the shop is open' },
    ...reasons.map(reason => ({
      expression: `request.name != 'policy-${reason.toLowerCase()}'`,
      message: 'not while the shop is open',
      reason,
    })),
    { expression: "request.name != 'policy-expression' || 1 / (request.name.size() - 17) == 1" },
  ];
  const matchConstraints = { resourceRules: rules, namespaceSelector: inNamespace(at) };
  await at.has(`${registration}/validatingadmissionpolicies`, {
    metadata: { name: 'frozen' },
    spec: { matchConstraints, validations },
  });
  const spec = { policyName: 'frozen', validationActions: ['Deny'] };
  await at.has(`${registration}/validatingadmissionpolicybindings`, {
    metadata: { name: 'frozen' },
    spec,
  });
}

function asked(at: Site, call: (typeof calls)[number], name: string) {
  const quiet = { compared: false };
  if (call === 'create') return at.post(at.path('configmaps'), configMap(name), quiet);
  if (call === 'delete') return at.delete(at.path('pods', name), undefined, quiet);
  return at.post(
    at.path('pods', name, 'eviction'),
    { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } },
    quiet,
  );
}

/**
 * Ports are other ones each time; so is what the libraries of a release say of a connection that
 * comes to nothing.
 */
function plain(body: unknown): JsonObject {
  return JSON.parse(
    JSON.stringify(body).replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:443'),
  ) as JsonObject;
}
function withoutReason({ body, ...one }: Recorded): unknown {
  return {
    ...one,
    body: JSON.parse(JSON.stringify(body), (_, value: unknown) =>
      typeof value === 'string'
        ? value.replace(/(failed to call webhook|webhook response): .*/s, '$1')
        : value,
    ) as unknown,
  };
}

describe('refusals of policies and webhooks are read as such', { skip, timeout: 180_000 }, () => {
  if (both.kind !== 'started') return;
  const silent: Server = createServer(() => {});
  const answers: Recorded[] = [];

  before(async () => {
    await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve));
    const [closed = 0] = await freePorts(1);
    const { port } = silent.address() as AddressInfo;
    for (const side of ['real', 'embedded'] as const) {
      const at = both.site(side, 'refusals');
      await at.has('/api/v1/namespaces', { metadata: { name: at.namespace } });
      for (const { name } of situationsOf(side)) await at.has(at.path('pods'), pod(name));
      await registerWebhooks(at, side, { closed, silent: port });
      await bindPolicy(at);
      for (const name of [
        'code-418',
        'policy-default',
        ...(side === 'real' ? ['mutating-denies'] : []),
      ])
        await at.settles(
          'POST',
          `${at.path('configmaps')}?dryRun=All`,
          name === 'policy-default' ? 422 : 418,
          { body: configMap(name) },
        );
    }
  });

  after(async () => {
    silent.close();
    await both.stop();
  });

  for (const side of ['real', 'embedded'] as const) {
    for (const situation of situationsOf(side)) {
      test(`${side}: ${situation.name}`, async () => {
        for (const call of calls) {
          const { status, headers, body } = await asked(
            both.site(side, 'refusals'),
            call,
            situation.name,
          );
          const outcome = classify({ status, headers, body });
          assert.equal(outcome.kind, situation.kind, `${call}: ${JSON.stringify(body)}`);
          const refusal = admissionRefusal(String(body['message']));
          assert.equal(refusal?.by, situation.by, call);
          const retryAfter = headers['retry-after'];
          const { name, kind, by } = situation;
          if (side === 'real' && name !== 'as-endless')
            answers.push({
              name,
              call,
              kind,
              by,
              status,
              ...(retryAfter !== undefined && { retryAfter }),
              body: plain(body),
            });
        }
      });
    }
  }

  test('they are the recorded ones', {
    skip: wantedRelease().name === newest.name ? false : 'recorded of the newest release',
  }, () => {
    if (process.env['DRYDOCK_TEST_UPDATE'] === '1')
      writeFileSync(recording, answers.map(one => `${JSON.stringify(one)}\n`).join(''));
    const recorded = readFileSync(recording, 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as Recorded);
    assert.deepEqual(answers.map(withoutReason), recorded.map(withoutReason));
  });
});
