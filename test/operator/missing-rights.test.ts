import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { MaintenanceStatus } from '@drydock/apis/schema';
import { defaultNamespace, manifests } from '@drydock/cli/install';
import { create, getNode, nodePath } from '../control-plane/objects/cluster.ts';
import type { Node } from '../control-plane/objects/objects.ts';
import { until } from '../control-plane/wait.ts';
import {
  type OperatorHarness,
  type OperatorProcess,
  skipOf,
  startHarness,
} from './harness/harness.ts';
import {
  maintenance,
  maintenancePath,
  makeNode,
  podAt,
  remove,
  seed,
  seedPath,
  untilFace,
  untilGone,
  untilHeld,
  untilMaintenance,
} from './harness/look.ts';

/**
 * Roles of an older version: each right to read or to write that the shipped roles give is taken
 * away in turn. What needs it stops and says so, all else goes on, the operator stays ready, and
 * what has stopped goes on within seconds of the right being back.
 */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

type Rule = {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
};
type Role = {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules: readonly Rule[];
};

const rbac = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const shipped = (
  manifests({
    parts: new Set(['rbac']),
    groups: [],
    namespace: defaultNamespace,
  }) as readonly unknown[] as readonly Role[]
).filter(({ kind }) => kind === 'ClusterRole');
const operatorRoles = ['drydock-operator', 'drydock-announcements', 'drydock-node-leases'];
const roles = shipped.filter(({ metadata }) => operatorRoles.includes(metadata.name));

const writers = shipped.filter(({ metadata }) =>
  ['drydock-pod-deletion', ...operatorRoles].includes(metadata.name),
);

function canList({ verbs }: Rule): boolean {
  return verbs.includes('list');
}

/** Resources of the shipped roles that are listed and watched, with the role that says so. */
const readable = roles.flatMap(role =>
  role.rules
    .filter(canList)
    .flatMap(({ resources }) => resources.map(resource => ({ role, resource }))),
);

/**
 * What of a plain maintenance goes on without the right: all of it, or how far it comes and what it
 * says.
 */
const effects: Readonly<
  Record<string, { readonly phase: string; readonly says: RegExp } | 'goes on'>
> = {
  nodes: { phase: 'Pending', says: /may not read nodes/ },
  // Nobody hears of it.
  maintenances: { phase: '', says: /^$/ },
  maintenancewindows: { phase: 'Pending', says: /maintenancewindows.* is forbidden/ },
  pods: { phase: 'Draining', says: /the pods of the node are not known.*forbidden/ },
  // Whether somebody else works on the node.
  leases: { phase: 'Pending', says: /may not read leases in medik8s-leases/ },
  volumeattachments: { phase: 'Detaching', says: /may not list volumeattachments/ },
};

/** Nothing that a maintenance alone needs. */
const goesOn = [
  'maintenanceplans',
  'nodemaintenances',
  'poddisruptionbudgets',
  'evictions',
  'evictionrequests',
  'daemonsets',
  'validatingwebhookconfigurations',
  'machinemaintenances',
  'machineeventsources',
  'nodenotices',
];

const writing = ['create', 'update', 'patch', 'delete'];

/** Resources of the shipped roles that are written, with the role that says so. */
const writable = writers.flatMap(role =>
  [
    ...new Set(
      role.rules
        .filter(({ verbs }) => verbs.some(verb => writing.includes(verb)))
        .flatMap(({ resources }) => resources),
    ),
  ].map(resource => ({ role, resource })),
);

/**
 * What of a maintenance goes on without the right to write: how far it comes, and what it says of
 * it. Of what it may not write at all, nothing is said but by `drydock check`.
 */
const writes: Readonly<
  Record<string, { readonly phase: string; readonly says: RegExp; readonly isHeld: boolean }>
> = {
  'drydock-operator maintenances': {
    phase: 'Pending',
    says: /cannot patch resource ..?maintenances..? /,
    isHeld: false,
  },
  'drydock-operator maintenances/status': { phase: '', says: /^$/, isHeld: true },
  'drydock-operator nodes': {
    phase: 'Pending',
    says: /cannot patch resource ..?nodes..? /,
    isHeld: false,
  },
  'drydock-operator nodes/status': {
    phase: 'Drained',
    says: /cannot patch resource ..?nodes\/status..? /,
    isHeld: true,
  },
  'drydock-operator pods/eviction': {
    phase: 'Draining',
    says: /cannot create resource ..?pods\/eviction..? /,
    isHeld: true,
  },
  'drydock-node-leases leases': {
    phase: 'Pending',
    says: /cannot create resource ..?leases..? /,
    isHeld: false,
  },
};

/** A maintenance needs none of them. */
const unneeded = [
  'drydock-operator maintenancewindows/status',
  'drydock-operator maintenanceplans/status',
  'drydock-operator nodemaintenances',
  'drydock-operator nodemaintenances/status',
  'drydock-operator evictionrequests',
  'drydock-operator events',
  'drydock-operator tokenreviews',
  'drydock-operator subjectaccessreviews',
  'drydock-operator validatingwebhookconfigurations',
  'drydock-pod-deletion pods',
  'drydock-pod-deletion pods/status',
  'drydock-announcements machinemaintenances/status',
  'drydock-announcements maintenances',
  'drydock-announcements nodenotices',
  'drydock-announcements machineeventsources/status',
];

function isHeldNow({ spec }: Node): boolean {
  return spec.unschedulable === true;
}

describe('rights that are missing', { skip, timeout: 720_000 }, () => {
  const { api } = harness;
  let operator: OperatorProcess | undefined;

  const without = async ({ metadata: { name }, rules }: Role, resource: string): Promise<void> => {
    const left = rules.flatMap(rule => {
      if (!canList(rule) || !rule.resources.includes(resource)) return [rule];
      const resources = rule.resources.filter(one => one !== resource);
      const acting = rule.verbs.filter(verb => !['get', 'list', 'watch'].includes(verb));
      const others = resources.length === 0 ? [] : [{ ...rule, resources }];
      return acting.length === 0
        ? others
        : [...others, { ...rule, resources: [resource], verbs: acting }];
    });
    await api.patch(`${rbac}/${name}`, { rules: left });
  };
  const withoutWriting = async (
    { metadata: { name }, rules }: Role,
    resources: readonly string[],
  ): Promise<void> => {
    const left = rules.flatMap(rule =>
      rule.resources.flatMap(resource => {
        const verbs = resources.includes(resource)
          ? rule.verbs.filter(verb => !writing.includes(verb))
          : rule.verbs;
        return verbs.length === 0 ? [] : [{ ...rule, resources: [resource], verbs }];
      }),
    );
    await api.patch(`${rbac}/${name}`, { rules: left });
  };
  const restore = ({ metadata: { name }, rules }: Role): Promise<unknown> =>
    api.patch(`${rbac}/${name}`, { rules });
  const readyz = async (): Promise<string> => (await fetch(`${operator?.health}/readyz`)).text();
  const statusOf = async (name: string): Promise<MaintenanceStatus> =>
    (await api.get<{ readonly status?: MaintenanceStatus }>(maintenancePath(name))).status ?? {};

  // Refusals are part of this: the harness would call them a lack of the shipped roles.
  after(() => harness.controlPlane.stop());

  test('each resource of the shipped roles has its row', () => {
    assert.deepEqual(
      [...new Set(readable.map(({ resource }) => resource))].sort(),
      [...Object.keys(effects), ...goesOn].sort(),
    );
  });

  for (const { role, resource } of readable) {
    const effect = effects[resource] ?? 'goes on';
    test(`${resource}: ${effect === 'goes on' ? 'a maintenance goes on' : `it comes as far as ${effect.phase || 'nothing'}, and says so`}`, async () => {
      const name = `without-${resource}`;
      const face = await makeNode(api, name);
      await create(api, podAt(name, `${name}-pod`));
      await without(role, resource);
      operator = await harness.startOperator();
      try {
        await create(api, maintenance(name));
        if (effect === 'goes on') await untilMaintenance(api, name, 'Drained');
        else {
          let last: MaintenanceStatus = {};
          await until(`${name} to say what is missing`, async () => {
            last = await statusOf(name);
            return (
              (last.phase ?? '') === effect.phase &&
              effect.says.test(effect.phase === '' ? '' : JSON.stringify(last))
            );
          });
          if (effect.phase !== '')
            assert.match((await harness.drydock('why', name)).stdout, effect.says);
        }
        assert.match(await readyz(), /^ok/);
        await restore(role);
        const back = performance.now();
        await untilMaintenance(api, name, 'Drained');
        assert.ok(
          performance.now() - back < 15_000,
          `${Math.round(performance.now() - back)} ms after the right was back`,
        );
        await until('nothing to be missing', async () => (await readyz()) === 'ok\n');
        await remove(api, maintenancePath(name));
        await untilFace(api, name, face);
      } finally {
        await restore(role);
        await operator.running.stop();
        await api.delete(nodePath(name));
      }
    });
  }

  test('each resource of the shipped roles that is written has its row', () => {
    const keys = writable.map(({ role, resource }) => `${role.metadata.name} ${resource}`);
    assert.deepEqual([...new Set(keys)].sort(), [...Object.keys(writes), ...unneeded].sort());
  });

  for (const { role, resource } of writable) {
    const key = `${role.metadata.name} ${resource}`;
    const effect = writes[key];
    if (effect === undefined) continue;
    const { phase, says, isHeld } = effect;
    test(`writing ${resource}: it comes as far as ${phase || 'nothing that is said'}, check names the right, and all goes on when it is back`, async () => {
      const name = `unwritten-${resource.replace('/', '-')}`;
      const face = await makeNode(api, name);
      await create(api, podAt(name, `${name}-pod`));
      await withoutWriting(role, [resource]);
      operator = await harness.startOperator();
      try {
        await create(api, maintenance(name));
        await until(`${name} to say what is missing`, async () => {
          const status = await statusOf(name);
          return (
            (status.phase ?? '') === phase && says.test(phase === '' ? '' : JSON.stringify(status))
          );
        });
        if (phase === '')
          await until('its node to be held, or not', async () =>
            isHeld ? isHeldNow(await getNode(api, name)) : true,
          );
        else assert.match((await harness.drydock('why', name)).stdout, says);
        assert.equal(isHeldNow(await getNode(api, name)), isHeld);
        const lacks = new RegExp(
          `ClusterRole ${role.metadata.name} lacks rights: .*(create|patch) ${resource}`,
        );
        assert.match((await harness.drydock('check')).stdout, lacks);
        assert.match(await readyz(), /^ok/);
        await restore(role);
        const back = performance.now();
        await untilMaintenance(
          api,
          name,
          'Drained',
          ({ conditions = [] }) => !conditions.some(({ reason }) => reason === 'WriteRefused'),
        );
        assert.ok(
          performance.now() - back < 15_000,
          `${Math.round(performance.now() - back)} ms after the right was back`,
        );

        // The same right is missing when the node is to be given back.
        await withoutWriting(role, [resource]);
        await api.delete(maintenancePath(name));
        if (phase !== '' && !isHeld) await new Promise(resolve => setTimeout(resolve, 3000));
        await restore(role);
        await untilGone(api, maintenancePath(name));
        await untilFace(api, name, face);
      } finally {
        await restore(role);
        await operator.running.stop();
        await api.delete(nodePath(name));
      }
    });
  }

  test('a maintenance goes on, and its node is given back, without any of the other rights to write', async () => {
    const face = await makeNode(api, 'unneeded');
    await create(api, podAt('unneeded', 'unneeded-pod'));
    const missing = (role: Role): readonly string[] =>
      unneeded.flatMap(key =>
        key.startsWith(`${role.metadata.name} `) ? [key.split(' ')[1] ?? ''] : [],
      );
    for (const role of writers) await withoutWriting(role, missing(role));
    operator = await harness.startOperator();
    try {
      await create(api, maintenance('unneeded'));
      await untilMaintenance(api, 'unneeded', 'Drained');
      await remove(api, maintenancePath('unneeded'));
      await untilFace(api, 'unneeded', face);
    } finally {
      for (const role of writers) await restore(role);
      await operator.running.stop();
    }
  });

  test('a node that a kind holds whose objects may not be read any more is left as it is', async () => {
    const role = roles.find(({ metadata }) => metadata.name === 'drydock-operator');
    assert.ok(role !== undefined);
    const face = await makeNode(api, 'held-unseen');
    operator = await harness.startOperator();
    await create(api, seed('held-unseen'));
    await untilHeld(api, 'held-unseen');
    await operator.running.stop();
    await without(role, 'nodemaintenances');
    operator = await harness.startOperator();
    await until('what is missing to be told', async () =>
      (await readyz()).includes('nodemaintenances'),
    );
    await api.delete(seedPath('held-unseen'));
    await new Promise(resolve => setTimeout(resolve, 3000));
    assert.match(JSON.stringify(await api.get(nodePath('held-unseen'))), /"unschedulable":true/);
    await restore(role);
    await untilFace(api, 'held-unseen', face);
    await operator.running.stop();
  });
});
