import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Api } from '../control-plane/objects/api.ts';
import { create } from '../control-plane/objects/cluster.ts';
import { namespace } from '../control-plane/objects/manifests.ts';
import { run } from '../control-plane/processes/command.ts';
import { freePorts } from '../control-plane/processes/ports.ts';
import type { Running } from '../control-plane/processes/process.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { waitFor } from '../control-plane/wait.ts';
import { applyAll, kindsServed } from '../integrations/installed.ts';
import { controllers, opm } from './controllers.ts';
import { fileOf } from './released.ts';
import { programIn, validators } from './validators.ts';

/**
 * OLM 0 itself on a control plane: its kinds, its two controllers, and catalogs that opm serves.
 */

export const olmKinds = '/apis/operators.coreos.com';

/** Where the catalogs are. */
const catalogs = 'olm';

/** Installs its kinds and starts its controllers. */
export async function startOlm(controlPlane: ControlPlane): Promise<readonly Running[]> {
  const { api, folder, kubeconfig } = controlPlane;
  const { code, stdout, stderr } = await run(programIn(validators, 'validators'), ['crds']);
  assert.equal(code, 0, stderr);
  await applyAll(api, JSON.parse(stdout) as readonly unknown[]);
  await kindsServed(api);
  await create(api, namespace(catalogs));
  const common = ['--namespace', catalogs, '--writeStatusName', '', '--interval', '5s'];
  const start = (name: 'catalog' | 'olm', ...args: readonly string[]): Running =>
    controlPlane.run({
      name,
      command: programIn(controllers, name),
      args: [...common, ...args],
      cwd: folder,
      patience: '5s',
      environment: { KUBECONFIG: kubeconfig },
    });
  return [start('catalog'), start('olm', '--writePackageServerStatusName', '')];
}

type Served = { readonly running: Running; readonly address: string };

/** Serves a catalog; `name` is that of the program. */
async function serve(controlPlane: ControlPlane, name: string, text: string): Promise<Served> {
  const catalog = join(controlPlane.folder, `catalog-${name}`);
  mkdirSync(catalog);
  writeFileSync(join(catalog, 'catalog.yaml'), text);
  const [port = 0, profile = 0] = await freePorts(2);
  const log = join(controlPlane.folder, `${name}-termination`);
  const args = [
    'serve',
    catalog,
    '--port',
    String(port),
    '--pprof-addr',
    `127.0.0.1:${profile}`,
    '-t',
    log,
  ];
  const running = controlPlane.run({
    name: `opm-${name}`,
    command: programIn(opm, 'opm'),
    args,
    cwd: controlPlane.folder,
  });
  return { running, address: `127.0.0.1:${port}` };
}

/** Serves a catalog, and makes a CatalogSource of this name. */
export async function serveCatalog(
  controlPlane: ControlPlane,
  name: string,
  text: string,
): Promise<Running> {
  const { running, address } = await serve(controlPlane, name, text);
  await create(controlPlane.api, {
    apiVersion: 'operators.coreos.com/v1alpha1',
    kind: 'CatalogSource',
    metadata: { name, namespace: catalogs },
    spec: { sourceType: 'grpc', address, displayName: name },
  });
  return running;
}

/** Serves a newer catalog in place of the one of this name. */
export async function serveNewer(
  controlPlane: ControlPlane,
  name: string,
  text: string,
): Promise<Running> {
  const { running, address } = await serve(controlPlane, `${name}-newer`, text);
  await controlPlane.api.patch(
    `${olmKinds}/v1alpha1/namespaces/${catalogs}/catalogsources/${name}`,
    { spec: { address } },
  );
  return running;
}

/**
 * The catalog of the release. No container runs here that could unpack the image of the bundle:
 * without it OLM takes the objects out of the catalog.
 */
export function drydockCatalog(): string {
  return readFileSync(fileOf('olm-catalog.yaml'), 'utf8').replace(/^image: .*\n/m, '');
}

/** Serves it. */
export function serveDrydock(controlPlane: ControlPlane): Promise<Running> {
  return serveCatalog(controlPlane, 'drydock', drydockCatalog());
}

/**
 * Subscribes to the package of this name in the catalog of this name; without targets for all
 * namespaces.
 */
export function subscribe(
  api: Api,
  name: string,
  to: string,
  targetNamespaces?: readonly string[],
): Promise<void> {
  return create(
    api,
    {
      apiVersion: 'operators.coreos.com/v1',
      kind: 'OperatorGroup',
      metadata: { name: 'group', namespace: to },
      spec: { ...(targetNamespaces !== undefined && { targetNamespaces }) },
    },
    {
      apiVersion: 'operators.coreos.com/v1alpha1',
      kind: 'Subscription',
      metadata: { name, namespace: to },
      spec: { channel: 'stable', name, source: name, sourceNamespace: catalogs },
    },
  );
}

type Csv = {
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
  };
};

/** Waits until a CSV is in a phase, for this reason where one is named. */
export function untilCsv(
  controlPlane: ControlPlane,
  {
    name,
    namespace,
    phase,
    reason,
  }: {
    readonly name: string;
    readonly namespace: string;
    readonly phase: string;
    readonly reason?: string;
  },
  running: readonly Running[],
): Promise<void> {
  return waitFor(
    `${name} to be ${phase}`,
    async () => {
      const { status, body } = await controlPlane.api.call(
        'GET',
        `${olmKinds}/v1alpha1/namespaces/${namespace}/clusterserviceversions/${name}`,
      );
      const seen = (body as Csv).status;
      if (seen?.phase === phase && (reason === undefined || seen.reason === reason))
        return { done: undefined };
      const { stdout } = await controlPlane.kubectl([
        'get',
        'subscriptions,installplans',
        '--namespace',
        namespace,
        '--output',
        'yaml',
      ]);
      return {
        yet: `${status} ${JSON.stringify(seen)}\n${stdout}\n${running.map(one => one.tail(8)).join('\n')}`,
      };
    },
    { deadlineMs: 120_000 },
  );
}
