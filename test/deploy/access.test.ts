import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startControlPlane } from '../control-plane/control-plane.ts';
import type { Outcome } from '../control-plane/processes/command.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { drydock } from '../operator/harness/shipped.ts';

/**
 * Whoever may not do all that an installation takes is told all of it, before anything is changed;
 * and what is told is enough.
 */

const started = await startControlPlane({ audit: true, users: { installer: [], uninstaller: [] } });
const leftOut = started.kind === 'left-out' ? `control plane left out: ${started.why}` : false;
const skip =
  leftOut ||
  (started.kind === 'started' &&
    started.external &&
    'it installs itself: it needs a control plane of its own');
const controlPlane = started as ControlPlane;

type Rule = {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
};

const missing = /^missing: ([a-z, ]+) ([a-z]+)(?:\.([a-z0-9.-]+))?(?: in \S+?)?(?:: .*)?$/gm;

describe('the rights of whoever installs', { skip, timeout: 240_000 }, () => {
  const { api } = controlPlane;
  after(() => controlPlane.stop());

  const as = (user: string, ...args: readonly string[]): Promise<Outcome> =>
    drydock([...args, '--kubeconfig', controlPlane.kubeconfigOf(user)]);
  const rightsIn = ({ stderr }: Outcome): readonly Rule[] =>
    [...stderr.matchAll(missing)].map(([, verbs = '', resource = '', group = '']) => ({
      apiGroups: [group],
      resources: [resource],
      verbs: verbs.split(', '),
    }));
  const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
  const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
  const grant = async (user: string, rules: readonly Rule[]): Promise<void> => {
    if ((await api.call('GET', `${roles}/${user}`)).status === 200)
      return api.patch(`${roles}/${user}`, { rules });
    await api.post(roles, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: user },
      rules,
    });
    await api.post(bindings, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: user },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    });
  };
  /** Gives the user what is named, until nothing is named any more; answers all of it. */
  const granted = async (user: string, ...args: readonly string[]): Promise<readonly Rule[]> => {
    const rules: Rule[] = [];
    for (let round = 0; round < 4; round += 1) {
      const outcome = await as(user, ...args);
      const named = rightsIn(outcome);
      if (named.length === 0) {
        assert.equal(outcome.code, 0, outcome.stdout + outcome.stderr);
        return rules;
      }
      assert.equal(outcome.code, 1);
      assert.doesNotMatch(outcome.stdout, /serverside-applied|deleted/, 'nothing has been changed');
      assert.match(
        outcome.stderr,
        /^drydock: your user lacks the rights above, and drydock has changed nothing: run the command with the rights of cluster-admin$/m,
      );
      rules.push(...named);
      await grant(user, rules);
    }
    throw new Error(`there is no end of rights: ${JSON.stringify(rules)}`);
  };
  const forbiddenFor = async (user: string, mark: number): Promise<readonly string[]> =>
    (await controlPlane.audit.since(mark))
      .filter(one => one.user === user && one.forbidden)
      .map(({ verb, path }) => `${verb} ${path}`);

  let rules: readonly Rule[] = [];
  test('all that is missing for an installation is named at once, and is enough for all of it', async () => {
    const first = await as('installer', 'install', '--apply', '--with', 'plans', 'agent');
    assert.equal(first.stdout, '');
    for (const line of [
      /^missing: list deployments\.apps$/m,
      /^missing: create, get, list, patch namespaces: drydock-agent, drydock-plans, drydock-system and 2 more$/m,
      /^missing: create, get, list, patch validatingwebhookconfigurations\.admissionregistration\.k8s\.io: drydock$/m,
      /^missing: bind, create, escalate, get, patch roles\.rbac\.authorization\.k8s\.io in drydock-system: drydock, drydock-plan-halt$/m,
      /^missing: bind clusterroles\.rbac\.authorization\.k8s\.io in node-maintenance: drydock-node-leases$/m,
    ])
      assert.match(first.stderr, line);
    rules = await granted('installer', 'install', '--apply', '--with', 'plans', 'agent');
    const mark = controlPlane.audit.mark();
    assert.equal(
      (await as('installer', 'install', '--apply', '--without', 'api-priority')).code,
      0,
    );
    assert.deepEqual(await forbiddenFor('installer', mark), []);
  });

  test('one right that is missing is named, and nothing else; what is there already need not be created', async () => {
    const without = (verb: string, resource: string): readonly Rule[] =>
      rules
        .map(rule =>
          rule.resources.includes(resource)
            ? { ...rule, verbs: rule.verbs.filter(one => one !== verb) }
            : rule,
        )
        .filter(({ verbs }) => verbs.length > 0);
    for (const [verb, resource, expected] of [
      ['patch', 'deployments', /^missing: patch deployments\.apps in drydock-system: drydock$/m],
      ['create', 'clusterroles', undefined],
      ['escalate', 'clusterroles', undefined],
      ['list', 'flowschemas', /^missing: list flowschemas\.flowcontrol\.apiserver\.k8s\.io$/m],
    ] as const) {
      await grant('installer', without(verb, resource));
      const outcome = await as('installer', 'install', '--apply');
      assert.equal(outcome.code, expected === undefined ? 0 : 1, outcome.stderr);
      if (expected !== undefined) assert.match(outcome.stderr, expected);
      assert.equal(rightsIn(outcome).length, expected === undefined ? 0 : 1, outcome.stderr);
    }
    await grant('installer', rules);
    const prune = await as('installer', 'install', '--apply', '--without', 'webhook');
    assert.match(
      prune.stderr,
      /^missing: delete validatingwebhookconfigurations\.admissionregistration\.k8s\.io: drydock$/m,
    );
    assert.equal(prune.stdout.includes('serverside-applied'), false);
  });

  test('what is missing for removing it is named, and is enough', async () => {
    const named = await granted('uninstaller', 'uninstall', '--apply', '--with-kinds');
    assert.ok(
      named.some(
        ({ verbs, resources }) =>
          verbs.includes('delete') && resources.includes('customresourcedefinitions'),
      ),
    );
  });
});
