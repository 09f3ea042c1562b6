import { statusMessage } from '@drydock/apimachinery';
import { legacyGroups } from '@drydock/apis/crds';
import type { Api } from '@drydock/kube-client';
import { listAll } from '@drydock/kube-client';
import { leaderLease } from '@drydock/operator/discovery';
import { plainOutput } from '../shared/output.ts';
import { type AccessQuestion, accessToInventory, type Undertaking } from './access.ts';
import { lineOf, type Manifest } from './install-locate.ts';
import { manifests, type StoredObject, sharedNamespaces } from './inventory.ts';
import { defaultNamespace } from './rollout.ts';

/** Remains of an uninstallation: kinds with their objects, and objects that others use as well. */

type CustomObject = {
  readonly metadata: { readonly name: string; readonly finalizers?: readonly string[] };
};
type Crd = StoredObject & {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string; readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly storage: boolean }[];
  };
};

/** A CRD in the cluster, with its objects. */
type KindHere = {
  readonly crd: Crd;
  readonly kind: string;
  readonly objects: readonly CustomObject[];
};

/** Secrets with certificates of the webhook: the operator's own, and that of cert-manager. */
const webhookSecrets = ['drydock-webhook-cert', 'drydock-webhook-tls'];

const crdsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

async function getOne<T>(api: Api, path: string): Promise<T | undefined> {
  const response = await api.call({ method: 'GET', path });
  if (response.status === 404) return undefined;
  if (response.status !== 200) throw new Error(`cannot read ${path}: ${statusMessage(response)}`);
  return response.body as T;
}

function crdManifests(groups: readonly string[] = []): readonly Manifest[] {
  return manifests({ parts: new Set(['crds']), groups, namespace: defaultNamespace });
}

/** Kinds that can hold a node or a machine, whether other operators serve them or not. */
const holding = ['Maintenance', 'NodeMaintenance', 'MachineMaintenance'];

/**
 * Returns the rights for determining what an uninstallation would do, and for releasing nodes
 * first.
 */
export function accessToUninstall({
  namespace,
  releaseNodes = false,
}: {
  readonly namespace: string;
  readonly releaseNodes?: boolean;
}): Undertaking {
  const specs = crdManifests(legacyGroups).map(manifest => manifest['spec'] as Crd['spec']);
  const released = specs
    .filter(({ names }) => releaseNodes && holding.includes(names.kind))
    .map(({ group, names, versions }) => {
      const version = versions.find(({ storage }) => storage)?.name ?? '';
      return { apiVersion: `${group}/${version}`, kind: names.kind, verbs: ['delete'] };
    });
  const get = (group: string, resource: string, name: string): AccessQuestion => ({
    verb: 'get',
    group,
    resource,
    name,
  });
  return {
    kinds: [
      ...accessToInventory(),
      ...released,
      { apiVersion: 'v1', kind: 'Node', verbs: ['list'] },
    ],
    besides: [
      // Kinds that are not served are looked up as well.
      ...specs.map(({ group, names }) => ({ verb: 'list', group, resource: names.plural })),
      ...crdManifests().map(({ metadata }) =>
        get('apiextensions.k8s.io', 'customresourcedefinitions', metadata.name),
      ),
      ...[...sharedNamespaces(), namespace].map(name => get('', 'namespaces', name)),
      ...webhookSecrets.map(name => ({ ...get('', 'secrets', name), namespace })),
      { ...get('coordination.k8s.io', 'leases', leaderLease), namespace },
      { verb: 'list', group: '', resource: 'pods', namespace },
    ],
  };
}

/**
 * Returns the kinds of this installation that are in the cluster: those of drydock.dev, and those
 * of other operators.
 */
export async function kindsHere(
  api: Api,
): Promise<{ readonly own: readonly KindHere[]; readonly others: readonly KindHere[] }> {
  const here: KindHere[] = [];
  for (const { metadata } of crdManifests()) {
    const crd = await getOne<Crd>(api, `${crdsPath}/${metadata.name}`);
    if (crd === undefined) continue;
    const { group, names, versions } = crd.spec;
    const version = versions.find(({ storage }) => storage)?.name ?? '';
    const objects = (await listAll(
      api,
      `/apis/${group}/${version}/${names.plural}`,
      {},
      'empty',
    )) as readonly CustomObject[];
    here.push({
      crd: { ...crd, apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
      kind: names.kind,
      objects,
    });
  }
  const isOwn = ({ crd }: KindHere): boolean => crd.spec.group === 'drydock.dev';
  return { own: here.filter(isOwn), others: here.filter(one => !isOwn(one)) };
}

/** Deletes the CRDs of drydock.dev with their objects. Returns how many could not be deleted. */
export async function deleteKinds(api: Api, dryRun: boolean): Promise<number> {
  let failed = 0;
  for (const { crd } of (await kindsHere(api)).own) {
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid: crd.metadata.uid },
      ...(dryRun && { dryRun: ['All'] }),
    };
    const response = await api.call({
      method: 'DELETE',
      path: `${crdsPath}/${crd.metadata.name}`,
      body,
    });
    const isGone = [200, 202, 404].includes(response.status);
    if (!isGone) failed += 1;
    plainOutput.line(
      lineOf(
        crd,
        isGone ? 'deleted' : 'FAILED',
        isGone ? { dryRun } : { why: statusMessage(response) },
      ),
    );
  }
  return failed;
}

/**
 * Returns the certificates of the webhook, which the operator or cert-manager has created under
 * Drydock's names.
 */
export async function madeByOperator(
  api: Api,
  namespace: string,
): Promise<readonly StoredObject[]> {
  const found = await Promise.all(
    webhookSecrets.map(name =>
      getOne<StoredObject>(api, `/api/v1/namespaces/${namespace}/secrets/${name}`),
    ),
  );
  return found
    .filter(one => one !== undefined)
    .map(one => ({ ...one, apiVersion: 'v1', kind: 'Secret' }));
}

type Left = {
  readonly namespace: string;
  /** Objects that the installation had. */
  readonly here: readonly StoredObject[];
  readonly held: readonly string[];
  readonly withKinds: boolean;
};

async function isHere(api: Api, path: string): Promise<boolean> {
  return (await getOne(api, path)) !== undefined;
}

/** Returns one line for each object that stays, with the reason. */
export async function leftLines(
  api: Api,
  { namespace, here, held, withKinds }: Left,
): Promise<readonly string[]> {
  const lines: string[] = held.map(line => `${line}, until an operator is installed again`);
  const { own, others } = await kindsHere(api);
  if (own.length > 0 && !withKinds) {
    const count = own.reduce((sum, { objects }) => sum + objects.length, 0);
    lines.push(`the kinds of drydock.dev with ${count} objects; --with-kinds deletes both`);
  }
  for (const { crd, objects } of others)
    lines.push(
      `customresourcedefinition.apiextensions.k8s.io/${crd.metadata.name} with ${objects.length} objects: other operators serve it as well`,
    );
  for (const name of sharedNamespaces())
    if (await isHere(api, `/api/v1/namespaces/${name}`))
      lines.push(`namespace/${name}: other operators use it as well`);
  const isOurs = here.some(
    ({ kind, metadata }) => kind === 'Namespace' && metadata.name === namespace,
  );
  if (
    !isOurs &&
    !sharedNamespaces().includes(namespace) &&
    (await isHere(api, `/api/v1/namespaces/${namespace}`))
  ) {
    if (
      await isHere(
        api,
        `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${leaderLease}`,
      )
    )
      lines.push(
        `lease.coordination.k8s.io/${leaderLease}: medik8s' operator elects its leader by the same`,
      );
    lines.push(
      `namespace/${namespace}: it was there before, or helm install --create-namespace has made it`,
    );
  }
  return lines;
}
