import type { EmbeddedCluster } from '@drydock/kube-sim';
import type { ApiRequest, Response } from '@drydock/kube-sim/api';

/**
 * Kinds that the embedded cluster does not serve and that Kubernetes' own controllers wait for
 * before they begin. Nobody makes any: they are told of empty collections.
 */
const empty: Readonly<Record<string, readonly string[]>> = {
  v1: [
    'Endpoints',
    'LimitRange',
    'PodTemplate',
    'ReplicationController',
    'ResourceQuota',
    'Service',
  ],
  'autoscaling/v2': ['HorizontalPodAutoscaler'],
  'batch/v1': ['CronJob'],
  'certificates.k8s.io/v1': ['CertificateSigningRequest', 'PodCertificateRequest'],
  'discovery.k8s.io/v1': ['EndpointSlice'],
  'networking.k8s.io/v1': ['IPAddress', 'ServiceCIDR'],
  'resource.k8s.io/v1': [
    'DeviceClass',
    'DeviceTaintRule',
    'ResourceClaim',
    'ResourceClaimTemplate',
    'ResourceSlice',
  ],
  'storage.k8s.io/v1': [
    'CSIDriver',
    'CSINode',
    'CSIStorageCapacity',
    'StorageClass',
    'VolumeAttributesClass',
  ],
  'storagemigration.k8s.io/v1': ['StorageVersionMigration'],
};

function pluralOf(kind: string): string {
  const word = kind.toLowerCase();
  if (word === 'endpoints') return word;
  if (word.endsWith('s')) return `${word}es`;
  return word.endsWith('y') ? `${word.slice(0, -1)}ies` : `${word}s`;
}

type Kind = { readonly apiVersion: string; readonly kind: string };

const kinds = new Map<string, Kind>(
  Object.entries(empty).flatMap(([apiVersion, all]) =>
    all.map(
      kind =>
        [
          `/${apiVersion === 'v1' ? 'api' : 'apis'}/${apiVersion}/${pluralOf(kind)}`,
          { apiVersion, kind },
        ] as const,
    ),
  ),
);

function list({ apiVersion, kind }: Kind): Response {
  return {
    kind: 'object',
    status: 200,
    headers: {},
    body: { kind: `${kind}List`, apiVersion, metadata: { resourceVersion: '1' }, items: [] },
  };
}

/** Says at once that all there is has been told, and nothing ever after. */
function watch(of: Kind): Response {
  return {
    kind: 'watch',
    open: hears => {
      const metadata = {
        resourceVersion: '1',
        annotations: { 'k8s.io/initial-events-end': 'true' },
      };
      hears.event({ type: 'BOOKMARK', object: { ...of, metadata } });
      return { close: () => {} };
    },
  };
}

function responseTo({ method, path, query }: ApiRequest): Response | undefined {
  const of = method === 'GET' ? kinds.get(path) : undefined;
  return of === undefined ? undefined : query.get('watch') === undefined ? list(of) : watch(of);
}

/** The same cluster, with these collections in it. */
export function withEmptyKinds(cluster: EmbeddedCluster): EmbeddedCluster {
  return {
    ...cluster,
    respond: async (request, user) => responseTo(request) ?? cluster.respond(request, user),
  };
}
