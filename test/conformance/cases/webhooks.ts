import type { Hooked, Review } from '../hook.ts';
import type { Answer, Case, Site } from '../site.ts';
import { configMap, pod } from './things.ts';

/**
 * Validating webhooks: what they are asked, and what becomes of their answers. Upstream
 * apiserver/pkg/admission/plugin/webhook.
 */

const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

const yes: Hooked = { response: { allowed: true } };
function no(status?: object): Hooked {
  return { response: { allowed: false, ...(status && { status }) } };
}

function inNamespace(at: Site): object {
  return { matchLabels: { 'kubernetes.io/metadata.name': at.namespace } };
}

function isProbe({ request }: Review): boolean {
  return request.name === 'probe';
}

type Hook = {
  readonly answer: (review: Review) => Hooked;
  readonly rule?: Readonly<Record<string, unknown>>;
  readonly webhook?: Readonly<Record<string, unknown>>;
};

/**
 * Registers it and waits until it is asked: it always refuses the probe. What it is asked until
 * then is not compared.
 */
async function register(at: Site, { answer, rule, webhook }: Hook): Promise<void> {
  const clientConfig = at.webhook(review => (isProbe(review) ? no() : answer(review)));
  const rules = [
    {
      apiGroups: [''],
      apiVersions: ['v1'],
      operations: ['CREATE'],
      resources: ['configmaps'],
      ...rule,
    },
  ];
  const admissionReviewVersions = ['v1'];
  const one = {
    name: 'hook.example.test',
    clientConfig,
    rules,
    admissionReviewVersions,
    sideEffects: 'None',
    ...webhook,
  };
  await at.has(path, {
    metadata: { name: at.name('hook') },
    webhooks: [{ ...one, namespaceSelector: inNamespace(at) }],
  });
  const probing = {
    apiGroups: [''],
    apiVersions: ['v1'],
    operations: ['CREATE'],
    resources: ['secrets'],
  };
  const probe = {
    ...one,
    name: 'probe.example.test',
    rules: [probing],
    failurePolicy: 'Fail',
    sideEffects: 'None',
    namespaceSelector: inNamespace(at),
  };
  const { matchConditions: _conditions, ...always } = probe as typeof probe & {
    matchConditions?: unknown;
  };
  await at.has(path, { metadata: { name: at.name('probe') }, webhooks: [always] });
  await at.settles('POST', `${at.path('secrets')}?dryRun=All`, 400, {
    body: { kind: 'Secret', metadata: { name: 'probe' } },
  });
}

/**
 * Waits until the real server's watch cache has what was written. A change begins with the cached
 * object: an older one meets a conflict, and the webhook is asked again, about the newer one
 * (apiserver/pkg/storage/cacher, GuaranteedUpdate).
 */
async function cached(at: Site, path: string, { body }: Answer): Promise<void> {
  await at.get(`${path}?resourceVersion=${body.metadata?.resourceVersion ?? ''}`, {
    compared: false,
  });
}

function answers(name: string, answer: Hooked, webhook: Hook['webhook'] = {}): Case {
  return {
    name,
    run: async at => {
      await register(at, { answer: () => answer, webhook });
      await at.post(at.path('configmaps'), configMap('one'));
      await at.get(at.path('configmaps', 'one'), { compared: false });
    },
  };
}

export const webhooks: readonly Case[] = [
  answers('lets pass what it allows', yes),
  answers('refuses without a word', no()),
  answers(
    'refuses with words, code and reason',
    no({ code: 403, message: 'not today', reason: 'Forbidden' }),
  ),
  answers('refuses with words alone', no({ message: 'not today' })),
  answers('refuses with a reason alone', no({ reason: 'Because' })),
  answers('refuses with a code that is none', no({ code: 200, message: 'odd' })),
  answers(
    'refuses with details of its own',
    no({
      code: 429,
      message: 'later',
      details: {
        name: 'x',
        kind: 'pods',
        retryAfterSeconds: 7,
        causes: [{ reason: 'DisruptionBudget', message: 'b' }],
      },
    }),
  ),
  answers('warns', { response: { allowed: true, warnings: ['mind the gap', 'and the "quotes"'] } }),
  answers('warns and refuses', { response: { allowed: false, warnings: ['mind the gap'] } }),
  answers('answers for somebody else', { response: { allowed: true, uid: 'other' } }),
  answers('is broken and fails closed', { status: 500, text: 'broken' }),
  answers('is broken and fails open', { status: 500, text: 'broken' }, { failurePolicy: 'Ignore' }),
  {
    name: 'is asked about creations, changes and deletions, with what is and what was',
    run: async at => {
      await register(at, { answer: () => yes, rule: { operations: ['*'] } });
      const one = at.path('configmaps', 'one');
      await cached(at, one, await at.post(at.path('configmaps'), configMap('one')));
      await cached(at, one, await at.patch(one, 'merge', { data: { a: '2' } }));
      await cached(at, one, await at.patch(one, 'merge', { data: { a: '3' } }));
      await at.delete(one);
      await at.post(`${at.path('configmaps')}?dryRun=All`, configMap('two'));
    },
  },
  {
    name: 'is asked about evictions and bindings of subresources that its rules name',
    run: async at => {
      await register(at, {
        answer: ({ request }) => (request.name === 'stays' ? no({ message: 'it stays' }) : yes),
        rule: { resources: ['pods/eviction'] },
      });
      for (const name of ['stays', 'goes']) {
        await at.has(at.path('pods'), pod(name));
        await at.post(at.path('pods', name, 'eviction'), {
          apiVersion: 'policy/v1',
          kind: 'Eviction',
          metadata: { name },
        });
      }
    },
  },
  {
    name: 'is left out by its selector and its conditions',
    run: async at => {
      await register(at, {
        answer: () => no(),
        webhook: {
          objectSelector: { matchExpressions: [{ key: 'free', operator: 'DoesNotExist' }] },
          matchConditions: [
            { name: 'not-mine', expression: "!object.metadata.name.startsWith('mine')" },
          ],
        },
      });
      await at.post(at.path('configmaps'), configMap('mine'));
      await at.post(at.path('configmaps'), configMap('free', {}, { labels: { free: 'yes' } }));
      await at.post(at.path('configmaps'), configMap('other'));
    },
  },
  {
    name: 'with side effects is no partner for a dry run',
    run: async at => {
      await register(at, { answer: () => yes, webhook: { sideEffects: 'NoneOnDryRun' } });
      await at.post(`${at.path('configmaps')}?dryRun=All`, configMap('one'));
    },
  },
  {
    name: 'is defaulted',
    run: async at => {
      const clientConfig = { service: { namespace: 'n', name: 's' } };
      const rules = [
        {
          apiGroups: ['nobody.test'],
          apiVersions: ['v1'],
          operations: ['CREATE'],
          resources: ['things'],
        },
      ];
      const one = {
        name: 'hook.example.test',
        clientConfig,
        rules,
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
      };
      await at.post(path, { metadata: { name: at.name('bare') }, webhooks: [one] });
    },
  },
];
