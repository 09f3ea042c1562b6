import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { admissionRefusal } from '../../admission-refusal.ts';
import { makePod } from '../../testing/make.ts';
import { outcomeBlockerInfo } from '../blockers/blocker.ts';
import { classify, type EvictionOutcome, type EvictionResponse } from './eviction-outcome.ts';

/**
 * Bodies as recorded from kube-apiserver 1.36 and from KubeVirt's webhook, shortened where nothing
 * depends on it.
 */
function failure(code: number, over: object): EvictionResponse {
  return {
    status: code,
    headers: {},
    body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, ...over },
  };
}
const webhook =
  'admission webhook "virt-launcher-eviction-interceptor.kubevirt.io" denied the request: ';

const cases: readonly (readonly [what: string, reply: EvictionResponse, kind: string])[] = [
  [
    '201: the deletion has begun',
    { status: 201, headers: {}, body: { kind: 'Status', status: 'Success' } },
    'accepted',
  ],
  ['300: a redirection is no acceptance', { status: 300, headers: {}, body: '' }, 'invalid'],
  [
    '404: gone',
    failure(404, {
      reason: 'NotFound',
      details: { name: 'p', kind: 'pods' },
      message: 'pods "p" not found',
    }),
    'gone',
  ],
  ['404 by somebody else', { status: 404, headers: {}, body: '404 page not found\n' }, 'invalid'],
  [
    '409 by the uid: another pod has the name',
    failure(409, {
      reason: 'Conflict',
      details: { name: 'p', kind: 'pods' },
      message:
        'Operation cannot be fulfilled on Pod "p": the UID in the precondition (a) does not match the UID in record (b). The object might have been deleted and then recreated',
    }),
    'gone',
  ],
  [
    '409 by the budget: a lost race, the pod is still there',
    failure(409, {
      reason: 'Conflict',
      details: { name: 'b', kind: 'poddisruptionbudgets' },
      message:
        'Operation cannot be fulfilled on poddisruptionbudgets.policy "b": the object has been modified',
    }),
    'conflict',
  ],
  [
    '429 by the budget',
    failure(429, {
      reason: 'TooManyRequests',
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
      details: {
        causes: [
          {
            reason: 'DisruptionBudget',
            message: 'The disruption budget b needs 2 healthy pods and has 2 currently',
          },
        ],
      },
    }),
    'budget',
  ],
  [
    '429 by the budget, named by the type of the cause, among other causes',
    failure(429, {
      message: 'no',
      details: { causes: [{ reason: 'Other' }, { type: 'DisruptionBudget' }] },
    }),
    'budget',
  ],
  [
    '429 for another cause',
    failure(429, { message: 'no', details: { causes: [{ reason: 'Other', type: 'Another' }] } }),
    'throttled',
  ],
  [
    '429 by KubeVirt: evacuation begun',
    failure(429, { message: `${webhook}Eviction triggered evacuation of VMI "ns/vm"` }),
    'evacuating',
  ],
  [
    '429 by KubeVirt: evacuation under way',
    failure(429, {
      message: `${webhook}Evacuation in progress: Eviction triggered evacuation of VMI "ns/vm"`,
    }),
    'evacuating',
  ],
  [
    '429 by KubeVirt: cannot migrate',
    failure(429, {
      message: `${webhook}VMI vm is configured with an eviction strategy but is not live-migratable`,
    }),
    'notMigratable',
  ],
  [
    '429 by KubeVirt: target of a migration',
    failure(429, { message: `${webhook}Eviction request for target Pod` }),
    'migrationTarget',
  ],
  [
    '429 by another webhook',
    failure(429, { message: 'admission webhook "x.y" denied the request: not now' }),
    'denied',
  ],
  [
    '429 by fairness: the body is plain text',
    {
      status: 429,
      headers: { 'retry-after': '1' },
      body: 'Too many requests, please try again later.\n',
    },
    'throttled',
  ],
  [
    '403 by a webhook',
    failure(403, {
      reason: 'Forbidden',
      message: 'admission webhook "x.y" denied the request: no',
    }),
    'denied',
  ],
  [
    '403 by a policy',
    failure(403, {
      reason: 'Forbidden',
      message: "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
    }),
    'denied',
  ],
  [
    '403 by a policy, as servers word it for a pod',
    failure(403, {
      reason: 'Forbidden',
      message: `pods "p" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`,
    }),
    'denied',
  ],
  [
    '403 of a namespace that is going',
    failure(403, {
      reason: 'Forbidden',
      details: { causes: [{ reason: 'NamespaceTerminating' }] },
      message: 'being terminated',
    }),
    'namespaceTerminating',
  ],
  [
    '403 of a budget that is behind',
    failure(403, {
      reason: 'Forbidden',
      details: { name: 'b', kind: 'poddisruptionbudget' },
      message: 'pdb disruptions allowed is negative',
    }),
    'budgetBehind',
  ],
  [
    '403 without the right',
    failure(403, {
      reason: 'Forbidden',
      details: { kind: 'pods' },
      message: 'pods "p" is forbidden: User "x" cannot create resource "pods/eviction"',
    }),
    'forbidden',
  ],
  [
    '403 of a server that does not know its policies yet',
    failure(403, {
      reason: 'Forbidden',
      details: { kind: 'pods' },
      message: 'pods "p" is forbidden: not yet ready to handle request',
    }),
    'throttled',
  ],
  [
    '500 of two budgets',
    failure(500, {
      message:
        'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    }),
    'multipleBudgets',
  ],
  [
    '500 of a webhook that cannot be reached',
    failure(500, {
      reason: 'InternalError',
      message: 'Internal error occurred: failed calling webhook "x.y": connection refused',
    }),
    'webhookFailed',
  ],
  [
    '504',
    failure(504, {
      reason: 'Timeout',
      details: { retryAfterSeconds: 10 },
      message: 'Timeout: request did not complete',
    }),
    'failed',
  ],
  ['503', { status: 503, headers: {}, body: 'apiserver is shutting down' }, 'throttled'],
  [
    '400',
    failure(400, {
      reason: 'BadRequest',
      message: 'name in URL does not match name in Eviction object',
    }),
    'invalid',
  ],
  ['401', failure(401, { reason: 'Unauthorized', message: 'Unauthorized' }), 'forbidden'],
];

for (const [what, reply, kind] of cases) test(what, () => assert.equal(classify(reply).kind, kind));

/**
 * What kube-apiserver answered to an eviction, a deletion and a creation that admission refused,
 * and how it is to be read (`test/conformance/refusals.test.ts`).
 */
type Answer = {
  readonly name: string;
  readonly call: 'evict' | 'delete' | 'create';
  readonly kind: EvictionOutcome['kind'];
  readonly by: string;
  readonly status: number;
  readonly retryAfter?: string;
  readonly body: { readonly message: string };
};

const answers = readFileSync(
  join(import.meta.dirname, 'testing', 'admission-answers.jsonl'),
  'utf8',
)
  .trim()
  .split('\n')
  .map(line => JSON.parse(line) as Answer);

describe('answers of a real API server where policies and webhooks refuse', () => {
  const replyOf = ({ status, retryAfter, body }: Answer): EvictionResponse => ({
    status,
    headers: { 'retry-after': retryAfter },
    body,
  });

  test('were recorded for every code and every call', () => {
    for (const code of [400, 401, 403, 404, 409, 410, 413, 418, 422, 429, 500, 503, 504])
      for (const call of ['evict', 'delete', 'create'])
        assert.ok(
          answers.some(one => one.status === code && one.call === call),
          `${code} ${call}`,
        );
  });

  for (const answer of answers) {
    test(`${answer.call} ${answer.name} (${answer.status}): ${answer.kind} by ${answer.by}`, () => {
      const outcome = classify(replyOf(answer));
      assert.equal(outcome.kind, answer.kind);
      assert.equal(admissionRefusal(answer.body.message)?.by, answer.by);
      if (outcome.kind !== 'denied' && outcome.kind !== 'webhookFailed') return;
      assert.ok((outcome.retryAfterSeconds ?? 0) <= 300);
      const { reason, message, remedy } = outcomeBlockerInfo(
        makePod('p'),
        outcome.kind,
        outcome.message,
      );
      assert.equal(reason, outcome.kind === 'denied' ? 'AdmissionDenied' : 'EvictionFailed');
      assert.doesNotMatch(remedy ?? '', /bug|API server|report|permission/);
      if (outcome.kind === 'denied')
        assert.match(
          message,
          /^(admission webhook "[^"]+"|ValidatingAdmissionPolicy 'frozen' with binding 'frozen') denied /,
        );
      else assert.match(message, /^webhook \S+ does not answer: \S/);
    });
  }

  test('mean the same from servers of the next release, whose webhooks speak as policies do', () => {
    const denied = 'admission webhook "x.y.z" denied the request: no';
    for (const [code, message] of [
      [403, `pods "p" is forbidden: ${denied}`],
      [500, `Internal error occurred: ${denied}`],
      [409, `evictionrequests.lifecycle.k8s.io "p" is forbidden: ${denied}`],
    ] as const)
      assert.deepEqual(classify(failure(code, { message })), { kind: 'denied', message: denied });
  });

  test('and of policies that change objects', () => {
    const message = "policy 'p' with binding 'b' denied request: no";
    assert.deepEqual(classify(failure(422, { message })), { kind: 'denied', message });
    assert.equal(admissionRefusal(message)?.by, 'policy p (binding b)');
    assert.equal(
      admissionRefusal('policy "p" denied request: failed to configure policy: x')?.by,
      'policy p',
    );
    assert.equal(
      admissionRefusal(
        "ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: x",
      )?.by,
      'policy p',
    );
  });

  test('nobody is blamed for words that are not at the beginning, and nobody speaks for another', () => {
    for (const message of [
      'the object says: admission webhook "x.y.z" denied the request: no',
      'pods "a" not found: failed calling webhook "x.y.z": no',
      'User "ValidatingAdmissionPolicy \'p\' denied request: " cannot create',
      'pods "p" is forbidden: User "x" cannot create resource "pods/eviction" in API group ""',
    ])
      assert.equal(admissionRefusal(message), undefined, message);
  });
});

test('what the server asks to wait is taken from the header or the body', () => {
  const header = classify({
    status: 429,
    headers: { 'retry-after': '7' },
    body: 'Too many requests',
  });
  assert.equal('retryAfterSeconds' in header && header.retryAfterSeconds, 7);
  const body = classify(failure(504, { details: { retryAfterSeconds: 10 } }));
  assert.equal('retryAfterSeconds' in body && body.retryAfterSeconds, 10);
});

test('only a number of seconds to come is what the server asks to wait, five minutes at most', () => {
  const wait = (header: string): unknown => {
    const outcome = classify({ status: 429, headers: { 'retry-after': header }, body: '' });
    return 'retryAfterSeconds' in outcome ? outcome.retryAfterSeconds : 'nothing';
  };
  const rows = [
    ['7', 7],
    ['0.5', 0.5],
    ['301', 300],
    ['0', 'nothing'],
    ['-5', 'nothing'],
    ['Infinity', 'nothing'],
    ['Sat, 21 Nov 2026 08:00:00 GMT', 'nothing'],
  ] as const;
  for (const [header, wanted] of rows) assert.equal(wait(header), wanted, header);
});

test('the message is that of the cause, else that of the status, else the plain body, else the code', () => {
  const said = (reply: EvictionResponse): unknown => {
    const outcome = classify(reply);
    return 'message' in outcome ? outcome.message : undefined;
  };
  const budget = (causes: readonly object[]): unknown =>
    said(failure(429, { message: 'not now', details: { causes } }));
  const other = { reason: 'Other', message: 'something else' };
  assert.equal(budget([other, { reason: 'DisruptionBudget', message: 'needs 2' }]), 'needs 2');
  assert.equal(budget([other, { type: 'DisruptionBudget', message: 'needs 3' }]), 'needs 3');
  assert.equal(budget([{ reason: 'DisruptionBudget' }]), 'not now');
  assert.equal(said({ status: 502, headers: {}, body: 'Bad gateway\n' }), 'Bad gateway');
  assert.equal(said({ status: 502, headers: {}, body: '' }), 'HTTP status 502');
  assert.equal(said({ status: 502, headers: {}, body: undefined }), 'HTTP status 502');
});

test('every reply has an outcome, and texts are bounded', () => {
  for (let status = 100; status < 600; status += 1) {
    const outcome = classify({ status, headers: {}, body: 'x'.repeat(5000) });
    assert.ok(outcome.kind.length > 0);
    if ('message' in outcome) assert.ok(outcome.message.length <= 1000);
  }
});
