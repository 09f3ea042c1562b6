import type { Case, Site } from '../site.ts';
import { configMap, pod } from './things.ts';

/**
 * ValidatingAdmissionPolicies; upstream apiserver/pkg/admission/plugin/policy/validating. Each is
 * about its case's namespace only.
 */

const group = '/apis/admissionregistration.k8s.io/v1';

type Policy = {
  readonly validations: readonly Readonly<Record<string, unknown>>[];
  readonly rule?: Readonly<Record<string, unknown>>;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly actions?: readonly string[];
  readonly binding?: Readonly<Record<string, unknown>>;
};

function inNamespace(at: Site): object {
  return { matchLabels: { 'kubernetes.io/metadata.name': at.namespace } };
}

async function bind(
  at: Site,
  { validations, rule, spec, actions = ['Deny'], binding }: Policy,
): Promise<void> {
  const name = at.name('policy');
  const rules = [
    {
      apiGroups: [''],
      apiVersions: ['v1'],
      operations: ['CREATE', 'UPDATE'],
      resources: ['configmaps'],
      ...rule,
    },
  ];
  const matchConstraints = { resourceRules: rules, namespaceSelector: inNamespace(at) };
  await at.has(`${group}/validatingadmissionpolicies`, {
    metadata: { name },
    spec: { matchConstraints, validations, ...spec },
  });
  const bound = { policyName: name, validationActions: actions, ...binding };
  await at.has(`${group}/validatingadmissionpolicybindings`, { metadata: { name }, spec: bound });
}

/** The policy counts once it denies what it has to. */
function inForce(
  at: Site,
  body: object = configMap('probe', { a: 'bad' }),
  status = 422,
): Promise<void> {
  return at.settles('POST', `${at.path('configmaps')}?dryRun=All`, status, { body });
}

const good: Policy['validations'][number] = { expression: "object.data.a != 'bad'" };

export const policies: readonly Case[] = [
  {
    name: 'denies what an expression does not allow, in the expression',
    run: async at => {
      await bind(at, { validations: [good] });
      await inForce(at);
      await at.post(at.path('configmaps'), configMap('one', { a: 'bad' }));
      await at.post(at.path('configmaps'), configMap('one', { a: 'good' }));
      await at.patch(at.path('configmaps', 'one'), 'merge', { data: { a: 'bad' } });
      await at.delete(at.path('configmaps', 'one'));
    },
  },
  {
    name: 'denies in its own words, with its own reason',
    run: async at => {
      await bind(at, {
        validations: [
          { ...good, message: ' not that ', reason: 'Forbidden' },
          {
            expression: "object.data.a != 'worse'",
            messageExpression: "'never ' + object.data.a",
            message: 'unused',
          },
          {
            expression: "object.data.a != 'worst'",
            messageExpression: 'string(object.data.missing)',
            message: 'the written one',
          },
        ],
      });
      await inForce(at, undefined, 403);
      for (const a of ['bad', 'worse', 'worst'])
        await at.post(at.path('configmaps'), configMap(a, { a }));
    },
  },
  {
    name: 'computes variables where they are looked at',
    run: async at => {
      await bind(at, {
        spec: {
          variables: [
            { name: 'a', expression: 'object.data.a' },
            { name: 'isBad', expression: "variables.a == 'bad'" },
            { name: 'broken', expression: 'object.data.nothing' },
          ],
        },
        validations: [
          { expression: '!variables.isBad', messageExpression: "variables.a + ' it is'" },
          { expression: "variables.a != 'broken' || variables.broken == 'x'" },
        ],
      });
      await inForce(at);
      await at.post(at.path('configmaps'), configMap('one', { a: 'bad' }));
      await at.post(at.path('configmaps'), configMap('two', { a: 'fine' }));
    },
  },
  {
    name: 'is left out by a match condition, a binding and a rule',
    run: async at => {
      await bind(at, {
        validations: [good],
        spec: {
          matchConditions: [
            { name: 'not-mine', expression: "!object.metadata.name.startsWith('mine')" },
          ],
        },
        binding: {
          matchResources: {
            objectSelector: { matchExpressions: [{ key: 'free', operator: 'DoesNotExist' }] },
          },
        },
      });
      await inForce(at);
      await at.post(at.path('configmaps'), configMap('mine', { a: 'bad' }));
      await at.post(
        at.path('configmaps'),
        configMap('free', { a: 'bad' }, { labels: { free: 'yes' } }),
      );
      await at.post(at.path('configmaps'), configMap('other', { a: 'bad' }));
      await at.post(at.path('secrets'), {
        kind: 'Secret',
        metadata: { name: 'bad' },
        stringData: { a: 'bad' },
      });
    },
  },
  {
    name: 'warns instead of denying',
    run: async at => {
      await bind(at, { validations: [{ ...good, message: 'better not' }], actions: ['Warn'] });
      // Nothing is denied by it: it is in force when the next one is.
      await bindSecond(at);
      await at.post(at.path('configmaps'), configMap('one', { a: 'bad' }));
    },
  },
  {
    name: 'looks at what was, at deletions, and at who asks',
    run: async at => {
      await bind(at, {
        rule: { operations: ['DELETE'], resources: ['pods'] },
        validations: [
          {
            expression: "oldObject.metadata.name != 'stays' && request.userInfo.username != ''",
            message: 'it stays',
          },
        ],
      });
      for (const name of ['stays', 'goes']) await at.has(at.path('pods'), pod(name));
      await at.settles('DELETE', `${at.path('pods', 'stays')}?dryRun=All`, 422);
      for (const name of ['stays', 'goes']) await at.delete(at.path('pods', name));
    },
  },
  {
    name: 'is heard before evictions',
    run: async at => {
      await bind(at, {
        rule: { operations: ['CREATE'], resources: ['pods/eviction'] },
        validations: [
          { expression: "request.name != 'stays'", message: 'it stays', reason: 'Forbidden' },
        ],
      });
      for (const name of ['stays', 'goes']) await at.has(at.path('pods'), pod(name));
      const eviction = (name: string): object => ({
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name },
      });
      await at.settles('POST', `${at.path('pods', 'stays', 'eviction')}?dryRun=All`, 403, {
        body: eviction('stays'),
      });
      for (const name of ['stays', 'goes'])
        await at.post(at.path('pods', name, 'eviction'), eviction(name));
    },
  },
  {
    name: 'fails closed or open, as it says, when an expression does',
    run: async at => {
      await bind(at, { validations: [{ expression: "object.data.missing == 'x'" }] });
      await inForce(at, configMap('probe'));
      await at.post(at.path('configmaps'), configMap('closed'));
      const path = `${group}/validatingadmissionpolicies/${at.name('policy')}`;
      await at.patch(path, 'merge', { spec: { failurePolicy: 'Ignore' } }, { compared: false });
      await inForce(at, configMap('probe'), 201);
      await at.post(at.path('configmaps'), configMap('open'));
    },
  },
  {
    name: 'takes fields that may be missing as they come',
    run: async at => {
      const expression =
        "object.?data['a'].orValue('none') != 'bad' && object.?data.?b.orValue('') == ''";
      await bind(at, {
        validations: [{ expression }, { expression: "dyn(object.?data.?c.orValue('')) != 'c'" }],
      });
      await inForce(at);
      for (const [name, data] of Object.entries({
        none: {},
        a: { a: 'bad' },
        b: { b: 'x' },
        c: { c: 'c' },
      }))
        await at.post(at.path('configmaps'), configMap(name, data));
    },
  },
  {
    name: 'asks the authorizer what somebody may',
    run: async at => {
      const rbac = 'rbac.authorization.k8s.io';
      const rules = [
        { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
        { apiGroups: ['drydock.test'], resources: ['things'], verbs: ['bless'] },
      ];
      await at.has(at.path(`${rbac}/v1/roles`), { metadata: { name: 'some' }, rules });
      const subjects = [{ kind: 'User', name: 'limited', apiGroup: rbac }];
      const roleRef = { apiGroup: rbac, kind: 'Role', name: 'some' };
      await at.has(at.path(`${rbac}/v1/rolebindings`), {
        metadata: { name: 'some' },
        subjects,
        roleRef,
      });
      const may = (verb: string): string =>
        `authorizer.group('drydock.test').resource('things').namespace(request.namespace).check('${verb}').allowed()`;
      await bind(at, {
        validations: [
          { expression: `object.data.a != 'curse' || ${may('curse')}`, message: 'who may curse?' },
          { expression: `object.data.a != 'bless' || ${may('bless')}`, message: 'who may bless?' },
          { expression: "object.data.a != 'bad'" },
        ],
      });
      await inForce(at);
      for (const a of ['bless', 'curse']) {
        await at.post(at.path('configmaps'), configMap(`${a}-by-limited`, { a }), {
          user: 'limited',
        });
        await at.post(at.path('configmaps'), configMap(`${a}-by-master`, { a }));
      }
    },
  },
  {
    name: 'is defaulted, and refused without what it needs',
    run: async at => {
      const [path, name] = [`${group}/validatingadmissionpolicies`, at.name('bare')];
      const resourceRules = [
        { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['events'] },
      ];
      const spec = {
        matchConstraints: { resourceRules, namespaceSelector: inNamespace(at) },
        validations: [{ expression: 'true' }],
      };
      await at.post(path, { metadata: { name }, spec });
      await at.get(path + `/${name}`, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
      await at.post(`${group}/validatingadmissionpolicybindings`, {
        metadata: { name },
        spec: { policyName: name, validationActions: ['Deny'] },
      });
    },
  },
];

async function bindSecond(at: Site): Promise<void> {
  const name = at.name('second');
  const resourceRules = [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['secrets'] },
  ];
  const spec = {
    matchConstraints: { resourceRules, namespaceSelector: inNamespace(at) },
    validations: [{ expression: 'false' }],
  };
  await at.has(`${group}/validatingadmissionpolicies`, { metadata: { name }, spec });
  await at.has(`${group}/validatingadmissionpolicybindings`, {
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  });
  await at.settles('POST', `${at.path('secrets')}?dryRun=All`, 422, {
    body: { kind: 'Secret', metadata: { name: 'probe' } },
  });
}
