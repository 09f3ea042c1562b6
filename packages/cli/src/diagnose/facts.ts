import type { KubernetesRelease } from '@drydock/apimachinery';
import { readTime, statusMessage } from '@drydock/apimachinery';
import type { Api } from '@drydock/kube-client';
import { listAll } from '@drydock/kube-client';
import { leaderLease } from '@drydock/operator/discovery';
import type { Clock } from '@drydock/utils';
import { errorText } from '@drydock/utils';
import {
  adaptToServerVersion,
  isMadeByOlm,
  Locator,
  type Manifest,
  type OlmVersion,
  servedOf,
} from '../install/install-locate.ts';
import { manifests } from '../install/inventory.ts';
import {
  defaultNamespace,
  defaultParts,
  type Part,
  partsByKinds,
  type RolledDeployment,
} from '../install/rollout.ts';
import { releaseOf } from '../shared/requests.ts';
import { tryWebhook, type WebhookTrial } from './webhook-trial.ts';

/** A Deployment or a DaemonSet, with the fields that matter here. */
export type InstalledWorkload = {
  readonly kind: string;
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly replicas?: number;
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly image?: string;
          readonly args?: readonly string[];
        }[];
      };
    };
  };
  readonly status?: RolledDeployment['status'] & { readonly readyReplicas?: number };
};

/** A FlowSchema of API Priority and Fairness. */
export type FlowSchema = {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly matchingPrecedence?: number;
    readonly priorityLevelConfiguration: { readonly name: string };
    readonly rules?: readonly {
      readonly subjects: readonly {
        readonly kind: string;
        readonly user?: { readonly name: string };
        readonly group?: { readonly name: string };
        readonly serviceAccount?: { readonly namespace: string; readonly name: string };
      }[];
      readonly resourceRules?: readonly {
        readonly verbs: readonly string[];
        readonly apiGroups: readonly string[];
        readonly resources: readonly string[];
      }[];
    }[];
  };
};

type Lease = { readonly spec?: { readonly holderIdentity?: string; readonly renewTime?: string } };
/** An EndpointSlice; Go writes an empty list as null. */
type Slice = {
  readonly endpoints?: null | readonly { readonly conditions?: { readonly ready?: boolean } }[];
};

/** Facts for the checks. Those that could not be read are missing, and named in `unread`. */
export type InstallationFacts = {
  readonly version: string;
  readonly release: KubernetesRelease;
  /**
   * Seconds by which the clock of the API server is ahead of this machine's; whole seconds, so a
   * difference of one is within the error.
   */
  readonly serverAhead?: number;
  /** Namespace of the operator; where there is none, the default one. */
  readonly namespace: string;
  /** Generation of the OLM that has installed the operator. */
  readonly olm?: OlmVersion;
  /**
   * Manifests that this version installs on this release, except those that OLM creates under its
   * own names.
   */
  readonly wanted: readonly Manifest[];
  /** Object in the cluster for each wanted manifest; missing where there is none. */
  readonly found: ReadonlyMap<Manifest, Manifest>;
  readonly workloads: readonly InstalledWorkload[];
  readonly flowSchemas: readonly FlowSchema[];
  /** Seconds since the leader last renewed its lease, by the clock of the API server. */
  readonly leaderSilentFor?: number;
  /** Name of the Service in the namespace. */
  readonly webhookService: string;
  /** Number of ready replicas behind the webhook's Service. */
  readonly webhookReplicas?: number;
  /** Result of the trial; missing when there is no webhook to try. */
  readonly webhookTrial?: WebhookTrial;
  readonly unread: readonly string[];
};

export function isOperator({ kind, metadata }: InstalledWorkload): boolean {
  return kind === 'Deployment' && metadata.labels?.['app.kubernetes.io/name'] === 'drydock';
}

/** Returns the generation of OLM, by its labels on the Deployment. */
function olmOf(operator: InstalledWorkload | undefined): OlmVersion | undefined {
  const { labels = {} } = operator?.metadata ?? {};
  if ('olm.owner' in labels) return 'olm';
  return labels['olm.operatorframework.io/owner-kind'] === 'ClusterExtension' ? 'olm-1' : undefined;
}

/** A reader that collects what could not be read. */
class Reader {
  readonly unread: string[] = [];
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  async list<T>(path: string): Promise<readonly T[]> {
    try {
      return (await listAll(this.#api, path, {}, 'empty')) as readonly T[];
    } catch (error) {
      this.unread.push(errorText(error));
      return [];
    }
  }

  async get<T>(path: string): Promise<T | undefined> {
    const response = await this.#api.call({ method: 'GET', path });
    if (response.status === 200) return response.body as T;
    if (response.status !== 404)
      this.unread.push(`cannot read ${path}: ${statusMessage(response)}`);
    return undefined;
  }
}

async function partsHere(api: Api): Promise<ReadonlySet<Part>> {
  const parts = new Set<Part>(defaultParts);
  for (const { part, serves } of partsByKinds)
    if ((await servedOf(api, serves)).length > 0) parts.add(part);
  return parts;
}

async function findAll(
  api: Api,
  reader: Reader,
  wanted: readonly Manifest[],
): Promise<InstallationFacts['found']> {
  const locator = new Locator(api);
  const found = new Map<Manifest, Manifest>();
  for (const manifest of wanted) {
    const located = await locator.find(manifest);
    const here = located.kind === 'known' ? await reader.get<Manifest>(located.path) : undefined;
    if (here !== undefined) found.set(manifest, here);
  }
  return found;
}

async function serverTime(
  api: Api,
  clock: Clock,
): Promise<{ readonly server: Temporal.Instant; readonly ahead: number } | undefined> {
  const { headers } = await api.call({ method: 'GET', path: '/version' });
  const milliseconds = Date.parse(headers['date'] ?? '');
  if (Number.isNaN(milliseconds)) return undefined;
  return {
    server: Temporal.Instant.fromEpochMilliseconds(milliseconds),
    ahead: (milliseconds - clock.now().epochMilliseconds) / 1000,
  };
}

async function workloadsOf(reader: Reader): Promise<readonly InstalledWorkload[]> {
  const lists = await Promise.all(
    (['Deployment', 'DaemonSet'] as const).map(async kind =>
      (await reader.list<InstalledWorkload>(`/apis/apps/v1/${kind.toLowerCase()}s`)).map(one => ({
        ...one,
        kind,
      })),
    ),
  );
  return lists.flat();
}

async function leaderOf(
  reader: Reader,
  namespace: string,
  server: Temporal.Instant | undefined,
): Promise<number | undefined> {
  const lease = await reader.get<Lease>(
    `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${leaderLease}`,
  );
  const renewed = readTime(lease?.spec?.renewTime);
  return renewed && server && (server.epochMilliseconds - renewed.epochMilliseconds) / 1000;
}

type WebhookConfiguration = Manifest & {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly webhooks?: readonly object[];
};

/**
 * Lists the webhooks that OLM 0 has created, each in a configuration with its own name, instead of
 * Drydock's.
 */
async function webhooksOfOlm(
  reader: Reader,
  operator: InstalledWorkload | undefined,
): Promise<readonly object[]> {
  const all = await reader.list<WebhookConfiguration>(
    '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  );
  const owner = operator?.metadata.labels?.['olm.owner'];
  return all
    .filter(({ metadata }) => metadata.labels?.['olm.owner'] === owner)
    .flatMap(({ webhooks = [] }) => webhooks);
}

type Installed = Pick<
  InstallationFacts,
  'namespace' | 'wanted' | 'found' | 'webhookService' | 'olm'
>;

async function installedOf(
  api: Api,
  reader: Reader,
  release: KubernetesRelease,
  operator: InstalledWorkload | undefined,
): Promise<Installed> {
  const namespace = operator?.metadata.namespace ?? defaultNamespace;
  const all = adaptToServerVersion(
    manifests({ parts: await partsHere(api), groups: [], namespace }),
    release,
  ).all;
  const olm = olmOf(operator);
  if (olm === undefined)
    return {
      namespace,
      wanted: all,
      found: await findAll(api, reader, all),
      webhookService: 'drydock-webhook',
    };
  const isWebhook = ({ kind }: Manifest): boolean => kind === 'ValidatingWebhookConfiguration';
  const wanted = all.filter(one => isWebhook(one) || !isMadeByOlm(all, one, olm, namespace));
  const found = new Map(await findAll(api, reader, wanted));
  if (olm === 'olm-1') return { olm, namespace, wanted, found, webhookService: 'drydock-webhook' };
  const webhooks = await webhooksOfOlm(reader, operator);
  for (const one of wanted.filter(isWebhook))
    if (webhooks.length > 0) found.set(one, { ...one, webhooks });
  return {
    olm,
    namespace,
    wanted,
    found,
    webhookService: `${operator?.metadata.name ?? ''}-service`,
  };
}

function hasWebhook({ wanted, found }: Installed): boolean {
  return wanted.some(one => one.kind === 'ValidatingWebhookConfiguration' && found.has(one));
}

/**
 * Reads all facts, and tries the webhook by a dry run; writes nothing. Throws when the API server
 * does not respond.
 */
export async function gatherFacts(
  api: Api,
  clock: Clock,
  version: string,
): Promise<InstallationFacts> {
  const reader = new Reader(api);
  const release = await releaseOf(api);
  const time = await serverTime(api, clock);
  const workloads = await workloadsOf(reader);
  const installed = await installedOf(api, reader, release, workloads.find(isOperator));
  const { namespace, webhookService } = installed;
  const leaderSilentFor = await leaderOf(reader, namespace, time?.server);
  const slices = await reader.list<
    Slice & { readonly metadata: { readonly labels?: Readonly<Record<string, string>> } }
  >(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`);
  const ofWebhook = slices.filter(
    ({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === webhookService,
  );
  return {
    version,
    release,
    ...(time && { serverAhead: time.ahead }),
    ...installed,
    workloads,
    flowSchemas: await reader.list<FlowSchema>('/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas'),
    ...(leaderSilentFor !== undefined && { leaderSilentFor }),
    ...(hasWebhook(installed) && { webhookTrial: await tryWebhook(api) }),
    webhookReplicas: ofWebhook
      .flatMap(({ endpoints }) => endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready === true).length,
    unread: reader.unread,
  };
}
