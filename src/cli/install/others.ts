import { isObject } from '../../core/json.ts';
import { listAll } from '../../operator/list.ts';
import type { Api } from '../../operator/ports.ts';
import type { StoredObject } from './inventory.ts';
import { belongingTo } from './ownership.ts';

/** What is in a namespace beside the installation: whoever deletes the namespace deletes that as well. */

type Resource = { readonly name: string; readonly kind: string; readonly namespaced: boolean; readonly verbs: readonly string[] };
type Groups = { readonly groups?: readonly { readonly name: string; readonly preferredVersion: { readonly groupVersion: string } }[] };

/** Written about other objects, and nobody's loss. Metrics are those of pods, which are looked at themselves. */
const aboutOthers = new Set(['Event', 'Endpoints', 'EndpointSlice', 'Lease', 'PodMetrics', 'LocalSubjectAccessReview']);

/** What Kubernetes and OpenShift make in every namespace, and the certificates of the webhook. */
const madeAlong = [
  /^ServiceAccount (default|builder|deployer)$/,
  /^ConfigMap (kube-root-ca\.crt|openshift-service-ca\.crt)$/,
  /^RoleBinding system:/,
  /^Secret (drydock-webhook-cert|drydock-webhook-tls)$/,
];

const bodyOf = async (api: Api, path: string): Promise<unknown> => {
  const { status, body } = await api.call({ method: 'GET', path });
  if (status !== 200) throw new Error(`cannot read ${path}: the API server responded with ${status}`);
  return body;
};

const collections = async (api: Api, namespace: string): Promise<readonly { readonly kind: string; readonly path: string }[]> => {
  const { groups = [] } = (await bodyOf(api, '/apis')) as Groups;
  const roots = ['/api/v1', ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
  const lists = await Promise.all(
    roots.map(async root => {
      const { resources = [] } = (await bodyOf(api, root)) as { readonly resources?: readonly Resource[] };
      return resources
        .filter(
          ({ name, kind, namespaced, verbs }) => namespaced && verbs.includes('list') && !name.includes('/') && !aboutOthers.has(kind),
        )
        .map(({ name, kind }) => ({ kind, path: `${root}/namespaces/${encodeURIComponent(namespace)}/${name}` }));
    }),
  );
  return lists.flat();
};

/** Names of the objects in a namespace that do not belong to the installation, and to nothing in the namespace. Throws when one kind could not be read. */
export const othersIn = async (api: Api, namespace: string, installation: string): Promise<readonly string[]> => {
  const lists = await Promise.all(
    (await collections(api, namespace)).map(async ({ kind, path }) =>
      (await listAll(api, path, {}, 'empty')).filter(isObject).map(item => ({ ...(item as unknown as StoredObject), kind })),
    ),
  );
  const all = lists.flat();
  const isOfInstallation = belongingTo(installation, all);
  const here = new Set(all.map(({ metadata }) => metadata.uid));
  return all
    .filter(one => !isOfInstallation(one) && !(one.metadata.ownerReferences ?? []).some(({ uid }) => here.has(uid)))
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    .filter(name => !madeAlong.some(pattern => pattern.test(name)));
};
