import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { parseAllDocuments, stringify } from 'yaml';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { create, nodesReady } from '../control-plane/objects/cluster.ts';
import { node } from '../control-plane/objects/manifests.ts';
import type { Running } from '../control-plane/processes/process.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until } from '../control-plane/wait.ts';
import { controllers, opm } from './controllers.ts';
import {
  drydockCatalog,
  olmKinds,
  serveCatalog,
  serveNewer,
  startOlm,
  subscribe,
  untilCsv,
} from './olm-0.ts';
import { csvName, fileOf, home, makeRelease, version } from './released.ts';
import { leftOutOf, validators } from './validators.ts';

/** OLM 0 upgrades from an earlier version that the newer catalog does not know. */

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

const earlier = '0.0.9';

/** The same catalog, of an earlier version: also in the objects that it embeds. */
function ofEarlier(catalog: string): string {
  const renamed = (text: string): string =>
    text
      .replaceAll(csvName, `drydock.v${earlier}`)
      .replaceAll(`"version":"${version}"`, `"version":"${earlier}"`);
  return parseAllDocuments(catalog)
    .map(document => {
      const text = JSON.stringify(document.toJS(), (key, value: unknown) =>
        key === 'data' && typeof value === 'string'
          ? Buffer.from(renamed(Buffer.from(value, 'base64').toString())).toString('base64')
          : value,
      );
      return `---\n${stringify(JSON.parse(renamed(text)))}`;
    })
    .join('');
}

describe('an upgrade by OLM', { skip: leftOut || external, timeout: 300_000 }, () => {
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
    running.push(
      ...(await startOlm(controlPlane)),
      await serveCatalog(controlPlane, 'drydock', ofEarlier(drydockCatalog())),
    );
    await subscribe(api, 'drydock', home, [home]);
    await untilCsv(
      controlPlane,
      { name: `drydock.v${earlier}`, namespace: home, phase: 'Succeeded' },
      running,
    );
  });
  after(() => controlPlane.stop());

  test('goes to the version of the newer catalog, and takes the earlier one away', async () => {
    running.push(await serveNewer(controlPlane, 'drydock', drydockCatalog()));
    await untilCsv(controlPlane, { name: csvName, namespace: home, phase: 'Succeeded' }, running);
    const path = `${olmKinds}/v1alpha1/namespaces/${home}/clusterserviceversions`;
    await until(
      'the earlier version to be gone',
      async () => {
        const { items } = await api.get<{
          readonly items: readonly { readonly metadata: { readonly name: string } }[];
        }>(path);
        return items.map(({ metadata }) => metadata.name).join() === csvName;
      },
      { deadlineMs: 60_000 },
    );
  });
});
