import { isObject, joinLimited, pathSegment, statusMessage } from '@drydock/apimachinery';
import { type Api, listAll } from '@drydock/kube-client';
import { errorText } from '@drydock/utils';
import { shellWord } from '../shared/fail.ts';
import { plainOutput } from '../shared/output.ts';
import { Locator, lineOf } from './install-locate.ts';
import { belongingTo, installationOf, type StoredObject, sharedNamespaces } from './inventory.ts';

/**
 * Objects in a namespace that do not belong to the installation: deleting the namespace deletes
 * them too.
 */

type Resource = {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
};
type Groups = {
  readonly groups?: readonly {
    readonly name: string;
    readonly preferredVersion: { readonly groupVersion: string };
  }[];
};

/**
 * Kinds that describe other objects, and are no loss. PodMetrics belong to pods, which are checked
 * themselves.
 */
const aboutOthers = new Set([
  'Event',
  'Endpoints',
  'EndpointSlice',
  'Lease',
  'PodMetrics',
  'LocalSubjectAccessReview',
]);

/**
 * Objects that Kubernetes and OpenShift create in every namespace, and the certificates of the
 * webhook.
 */
const madeAlong = [
  /^ServiceAccount (default|builder|deployer)$/,
  /^ConfigMap (kube-root-ca\.crt|openshift-service-ca\.crt)$/,
  /^RoleBinding system:/,
  /^Secret (drydock-webhook-cert|drydock-webhook-tls)$/,
];

async function bodyOf(api: Api, path: string): Promise<unknown> {
  const { status, body } = await api.call({ method: 'GET', path });
  if (status !== 200)
    throw new Error(`cannot read ${path}: the API server responded with ${status}`);
  return body;
}

async function collections(
  api: Api,
  namespace: string,
): Promise<readonly { readonly kind: string; readonly path: string }[]> {
  const { groups = [] } = (await bodyOf(api, '/apis')) as Groups;
  const roots = [
    '/api/v1',
    ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`),
  ];
  const lists = await Promise.all(
    roots.map(async root => {
      const { resources = [] } = (await bodyOf(api, root)) as {
        readonly resources?: readonly Resource[];
      };
      return resources
        .filter(
          ({ name, kind, namespaced, verbs }) =>
            namespaced && verbs.includes('list') && !name.includes('/') && !aboutOthers.has(kind),
        )
        .map(({ name, kind }) => ({
          kind,
          path: `${root}/namespaces/${pathSegment(namespace)}/${name}`,
        }));
    }),
  );
  return lists.flat();
}

/**
 * Returns the names of the objects in a namespace that neither belong to the installation nor have
 * an owner there. Throws when a kind cannot be read.
 */
async function othersIn(
  api: Api,
  namespace: string,
  installation: string,
): Promise<readonly string[]> {
  const lists = await Promise.all(
    (await collections(api, namespace)).map(async ({ kind, path }) =>
      (await listAll(api, path, {}, 'empty'))
        .filter(isObject)
        .map(item => ({ ...(item as unknown as StoredObject), kind })),
    ),
  );
  const all = lists.flat();
  const isOfInstallation = belongingTo(installation, all);
  const here = new Set(all.map(({ metadata }) => metadata.uid));
  return all
    .filter(
      one =>
        !isOfInstallation(one) &&
        !(one.metadata.ownerReferences ?? []).some(({ uid }) => here.has(uid)),
    )
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    .filter(name => !madeAlong.some(pattern => pattern.test(name)));
}

/** Result for an object that was to be removed. */
type Removed =
  | { readonly result: 'removed' }
  /** The object stays, which is no failure. */
  | { readonly result: 'left alone'; readonly why: string }
  | { readonly result: 'failed'; readonly why: string };

/**
 * Removes objects of an installation, and prints the results. A dry run changes nothing and has the
 * same results.
 */
export class Remover {
  readonly #api: Api;
  readonly #words: Readonly<Record<Removed['result'], string>>;
  readonly #locator: Locator;
  readonly #dryRun: boolean;

  /** Creates a remover; `removed` is the word for removed objects. */
  constructor(
    api: Api,
    { dryRun, removed }: { readonly dryRun: boolean; readonly removed: 'pruned' | 'deleted' },
  ) {
    this.#api = api;
    this.#words = { removed, 'left alone': 'left alone', failed: 'FAILED' };
    this.#locator = new Locator(api);
    this.#dryRun = dryRun;
  }

  /**
   * Removes the objects in this order, with a line for each. Returns how many could not be removed.
   */
  async removeAll(all: readonly StoredObject[]): Promise<number> {
    let failed = 0;
    for (const object of all) {
      const removed = await this.#remove(object);
      if (removed.result === 'failed') failed += 1;
      plainOutput.line(
        lineOf(object, this.#words[removed.result], {
          ...removed,
          dryRun: this.#dryRun && removed.result === 'removed',
        }),
      );
    }
    return failed;
  }

  /**
   * Removes exactly this object: one recreated under its name stays. A namespace stays when others
   * use it.
   */
  async #remove(object: StoredObject): Promise<Removed> {
    const kept = object.kind === 'Namespace' ? await this.#keeps(object) : undefined;
    if (kept !== undefined) return { result: 'left alone', why: kept };
    const located = await this.#locator.find(object);
    if (located.kind === 'unknown') return { result: 'failed', why: located.why };
    const response = await this.#api.call({
      method: 'DELETE',
      path: located.path,
      body: {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        // The API server ignores query parameters when the request has a body.
        ...(this.#dryRun && { dryRun: ['All'] }),
        propagationPolicy: 'Background',
        preconditions: { uid: object.metadata.uid },
      },
    });
    return [200, 202, 404].includes(response.status)
      ? { result: 'removed' }
      : { result: 'failed', why: statusMessage(response) };
  }

  async #keeps(object: StoredObject): Promise<string | undefined> {
    const { name: namespace } = object.metadata;
    if (sharedNamespaces().includes(namespace)) return 'other operators use it as well';
    const help = `kubectl delete namespace ${namespace} removes it with all that is in it`;
    try {
      const others = await othersIn(this.#api, namespace, installationOf(object) ?? '');
      return others.length === 0 ? undefined : `it also has ${joinLimited(others, 5)}; ${help}`;
    } catch (error) {
      return `nobody knows what else is in it (${errorText(error)}); ${help}`;
    }
  }
}

/**
 * Tool that installed Drydock; it would miss objects that another tool removes, or revert changes.
 */
export type InstallationManager =
  | { readonly tool: 'Helm'; readonly release: string }
  | { readonly tool: 'OLM'; readonly removal: string; readonly update: string };

/** Annotations by which Helm recognizes its objects. */
export const helmMarks = {
  release: 'meta.helm.sh/release-name',
  namespace: 'meta.helm.sh/release-namespace',
} as const;

/**
 * Returns the Helm release that installed an object: the chart installs into the namespace of its
 * release, so annotations with another one are not Helm's.
 */
export function releaseOfHelm(
  { metadata: { annotations = {} } }: StoredObject,
  namespace: string,
): string | undefined {
  const release = annotations[helmMarks.release];
  return annotations[helmMarks.namespace] === namespace &&
    /^[a-z0-9]([-.a-z0-9]{0,51}[a-z0-9])?$/.test(release ?? '')
    ? release
    : undefined;
}

/**
 * Returns the tool that manages the installation; undefined for this command, kubectl or kustomize.
 */
export function managerOf(
  here: readonly StoredObject[],
  namespace: string,
): InstallationManager | undefined {
  // Helm and OLM leave namespaces behind: without other objects, they have already uninstalled.
  const all = here.filter(({ kind }) => kind !== 'Namespace');
  const labelled = (name: string): string | undefined =>
    all.map(({ metadata }) => metadata.labels?.[name]).find(value => value !== undefined);
  const extension = labelled('olm.operatorframework.io/owner-name');
  if (extension !== undefined)
    return {
      tool: 'OLM',
      removal: `kubectl delete clusterextension ${shellWord(extension)}, which deletes the kinds with all their objects`,
      update: `the version in clusterextension ${shellWord(extension)}`,
    };
  const release = all
    .map(object => releaseOfHelm(object, namespace))
    .find(name => name !== undefined);
  if (release !== undefined) return { tool: 'Helm', release };
  const version = labelled('olm.owner');
  if (version === undefined) return undefined;
  return {
    tool: 'OLM',
    removal: `delete its Subscription, then kubectl -n ${namespace} delete clusterserviceversion ${shellWord(version)}`,
    update: `its CatalogSource and Subscription (kubectl -n ${namespace} get subscriptions)`,
  };
}

/** Returns the text for users who want to remove the installation in this namespace. */
export function removalBy(manager: InstallationManager, namespace: string): string {
  const removal =
    manager.tool === 'Helm'
      ? `helm uninstall ${manager.release} --namespace ${namespace}`
      : manager.removal;
  return `${manager.tool} has installed it: ${removal}; then drydock uninstall removes what it leaves`;
}

/** Returns the text for users who want to change the installation in this namespace. */
export function changeBy(manager: InstallationManager, namespace: string): string {
  return manager.tool === 'Helm'
    ? `Helm has installed it: helm upgrade ${manager.release} CHART --namespace ${namespace} changes it; --take-ownership goes on without Helm, whose release is forgotten then`
    : `OLM has installed it, and would change it back: change ${manager.update}; or let OLM remove it first: ${manager.removal}`;
}
