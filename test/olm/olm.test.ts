import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { crdTexts, defaultGroups } from '@drydock/apis/crds';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { create, nodesReady } from '../control-plane/objects/cluster.ts';
import { node } from '../control-plane/objects/manifests.ts';
import type { Running } from '../control-plane/processes/process.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { controllers, opm } from './controllers.ts';
import { olmKinds, serveDrydock, startOlm, subscribe, untilCsv } from './olm-0.ts';
import { csvName, examplesIn, fileOf, home, makeRelease, unpacked, version } from './released.ts';
import {
  installedFindings,
  intendedRights,
  rightsOf,
  webhookConfigurations,
  webhooksOf,
} from './seen.ts';
import { leftOutOf, validators } from './validators.ts';

/** The bundle and the catalog of a release, installed by OLM 0 itself. */

const started = await startControlPlane({});
const leftOut =
  started.kind === 'left-out'
    ? `control plane left out: ${started.why}`
    : leftOutOf(validators, opm, controllers);
const external =
  started.kind === 'started' &&
  started.external &&
  'it installs OLM: it needs a control plane of its own';
const controlPlane = started as ControlPlane;

/** Names of the kinds of the bundle with fields that watches select by. */
const selectable = crdTexts(defaultGroups)
  .flatMap(text =>
    text.includes('selectableFields') ? [/^ {2}name: (\S+)$/m.exec(text)?.[1] ?? text] : [],
  )
  .toSorted((one, other) => one.localeCompare(other));

describe('OLM on a real control plane', { skip: leftOut || external, timeout: 300_000 }, () => {
  const { api } = controlPlane;
  const running: Running[] = [];

  before(async () => {
    await makeRelease();
    await create(api, node('n1'), node('n2'));
    await nodesReady(api, ['n1', 'n2']);
    const applied = await controlPlane.kubectl([
      'apply',
      '--server-side',
      '-f',
      fileOf('olm-prerequisites.yaml'),
    ]);
    assert.equal(applied.code, 0, applied.stderr);
    running.push(...(await startOlm(controlPlane)), await serveDrydock(controlPlane));
    await subscribe(api, 'drydock', home, [home]);
  });
  after(() => controlPlane.stop());

  test('a Subscription leads to an install plan, and that to an operator that has succeeded', async () => {
    await untilCsv(controlPlane, { name: csvName, namespace: home, phase: 'Succeeded' }, running);
    type Step = {
      readonly status: string;
      readonly resource: { readonly kind: string; readonly name: string };
    };
    type Plan = {
      readonly status: {
        readonly phase: string;
        readonly message?: string;
        readonly plan: readonly Step[];
      };
    };
    // OLM looks at a plan again only after a pause when a step has met a conflict, and may make two
    // plans for the same.
    await waitFor(
      'the install plan to be complete',
      async () => {
        const { items } = await api.get<{ readonly items: readonly Plan[] }>(
          `${olmKinds}/v1alpha1/namespaces/${home}/installplans`,
        );
        if (items.length > 0 && items.every(({ status }) => status.phase === 'Complete'))
          return { done: undefined };
        const steps = items
          .flatMap(({ status }) => status.plan)
          .filter(({ status }) => !['Created', 'Present'].includes(status));
        return {
          yet: `${items.map(({ status }) => status.message).join()} ${JSON.stringify(steps)}\n${running.map(one => one.tail(8)).join('\n')}`,
        };
      },
      { deadlineMs: 120_000 },
    );
  });

  test('with the kinds, a certificate for the webhook, and the rights that the manifests give, no more', async () => {
    for (const kind of [
      'drydock.dev/v1alpha1/maintenances',
      'nodemaintenance.medik8s.io/v1beta1/nodemaintenances',
    ])
      await until(
        `${kind} to be served`,
        async () => (await api.call('GET', `/apis/${kind}`)).status === 200,
      );
    const hooks = await webhooksOf(api);
    assert.ok(
      hooks.some(({ name }) => name.startsWith('vnodemaintenance.kb.io')),
      JSON.stringify(hooks.map(({ name }) => name)),
    );
    assert.ok(hooks.every(({ clientConfig }) => (clientConfig.caBundle ?? '') !== ''));
    assert.deepEqual(await rightsOf(controlPlane), intendedRights);
  });

  test('this OLM drops the selectable fields of the kinds; drydock check warns of that, and of nothing else that is installed', async () => {
    assert.equal(
      (
        await api.call(
          'GET',
          '/apis/drydock.dev/v1alpha1/maintenances?fieldSelector=spec.nodeName%3Dn1',
        )
      ).status,
      400,
    );
    const findings = await installedFindings(controlPlane);
    assert.deepEqual(findings.slice(0, -1), [
      ...selectable.map(
        name =>
          `WARN kinds CustomResourceDefinition ${name} is of another version than this command (${version})`,
      ),
      // Nothing in this control plane keeps the endpoints of Services, or leads to them.
      `FAIL webhook no replica serves the webhook (Service ${home}/drydock-service): every create of a maintenance is refused`,
    ]);
    assert.match(
      findings.at(-1) ?? '',
      /^FAIL webhook it does not answer, and every create of a maintenance is refused: /,
    );
  });

  test('its examples are accepted by its kinds', async () => {
    // Nothing routes to the webhook's Service here, and OLM would put the webhooks back.
    await Promise.all(running.map(one => one.stop()));
    await api.delete(webhookConfigurations);
    for (const example of examplesIn(await unpacked('olm-bundle', controlPlane.folder)))
      await waitFor(`the example ${example.kind} to be accepted`, async () => {
        const { code, stderr } = await controlPlane.kubectl(
          ['create', '--dry-run=server', '-f', '-'],
          { input: JSON.stringify(example) },
        );
        return code === 0 ? { done: undefined } : { yet: stderr };
      });
  });
});
