import { isObject, pathSegment } from '@drydock/apimachinery';
import type { Api } from '@drydock/kube-client';
import { listAll } from '@drydock/kube-client';
import type { StoredObject } from './inventory.ts';
import { belongingTo } from './ownership.ts';

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
export async function othersIn(
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
