import { pathSegment, statusMessage } from '@drydock/apimachinery';
import type { SourceError } from '@drydock/clouds';
import {
  awsRegion,
  type Ec2Options,
  eventsOfNode,
  mayAsk,
  openEc2,
  regionOfInfrastructure,
  regionOfInstallConfig,
  regionOfProviderId,
  scanEc2,
  signalPresets,
} from '@drydock/clouds';
import type { EventSource, SourceObservation } from '@drydock/core/machine';
import type { Api } from '@drydock/kube-client';
import type { Clock, PanicHandler } from '@drydock/utils';
import type { EventScanner, SignalReader } from './machines/event-source-reconciler.ts';

/** Configured sources of announcements, with region and credentials from the cluster. */

type Reach = {
  readonly api: Api;
  readonly clock: Clock;
  readonly defects: PanicHandler;
  /** Namespace of the operator. */
  readonly namespace: string;
  /** Region from the environment. */
  readonly region?: string | undefined;
  /** Endpoints outside Amazon's domains that sources may name. */
  readonly awsEndpoints?: readonly string[];
};

type Place = { readonly namespace: string; readonly name: string };

/** Returns the default Secret for credentials, in the operator's namespace. */
function defaultSecret({ namespace }: Reach): Place {
  return { namespace, name: 'drydock-cloud-credentials' };
}

/**
 * Reads one object; returns undefined when it does not exist. Throws an error with the path and the
 * server's response.
 */
async function objectAt(
  api: Api,
  path: string,
  spare: readonly number[],
  signal: AbortSignal,
): Promise<unknown> {
  const response = await api.call({ method: 'GET', path }, signal);
  if (response.status === 200) return response.body;
  if (spare.includes(response.status)) return undefined;
  throw new Error(`cannot read ${path}: ${statusMessage(response)}`);
}

function decoded(secret: unknown, key: string): string | undefined {
  const { data = {} } = secret as { readonly data?: Readonly<Record<string, string>> };
  const text = Buffer.from(data[key] ?? '', 'base64')
    .toString('utf8')
    .trim();
  return text === '' ? undefined : text;
}

type Credentials = NonNullable<Ec2Options['credentials']>;

async function read(
  { namespace, name }: Place,
  spare: readonly number[],
  { api }: Reach,
  signal: AbortSignal,
): Promise<Credentials | 'none' | SourceError> {
  const path = `/api/v1/namespaces/${pathSegment(namespace)}/secrets/${pathSegment(name)}`;
  const secret = await objectAt(api, path, spare, signal);
  if (secret === undefined) return 'none';
  const [accessKeyId, secretAccessKey] = [
    decoded(secret, 'aws_access_key_id'),
    decoded(secret, 'aws_secret_access_key'),
  ];
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    const message = `Secret ${namespace}/${name} lacks one of the keys aws_access_key_id and aws_secret_access_key.`;
    return { reason: 'CredentialsMissing', message };
  }
  const sessionToken = decoded(secret, 'aws_session_token');
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
}

/**
 * Returns the credentials of a Secret with the keys of the replaced operator; 'none' leaves the
 * choice to the SDK.
 */
async function credentialsFor(
  { aws }: EventSource,
  reach: Reach,
  signal: AbortSignal,
): Promise<Credentials | 'none' | SourceError> {
  const asked = aws?.credentialsSecret;
  if (asked !== undefined) {
    const found = await read(asked, [404], reach, signal);
    const message = `Secret ${asked.namespace}/${asked.name} does not exist: create it with the keys aws_access_key_id and aws_secret_access_key.`;
    return found === 'none' ? { reason: 'CredentialsMissing', message } : found;
  }
  // The default Secret may be missing or forbidden: then there are no credentials in it.
  return read(defaultSecret(reach), [403, 404], reach, signal);
}

const infrastructure = '/apis/config.openshift.io/v1/infrastructures/cluster';
const installConfig = '/api/v1/namespaces/kube-system/configmaps/cluster-config-v1';

/** Returns the region for machines whose providerIDs lack it. */
async function defaultRegion(
  { api, clock, region }: Reach,
  signal: AbortSignal,
): Promise<string | undefined> {
  return (
    regionOfInfrastructure(await objectAt(api, infrastructure, [403, 404], signal)) ??
    regionOfInstallConfig(await objectAt(api, installConfig, [403, 404], signal)) ??
    region ??
    (await awsRegion({ clock, source: 'operator' }, signal)).value
  );
}

const unknownRegion: SourceError = {
  reason: 'RegionUnknown',
  message:
    'The region cannot be told from providerIDs, Infrastructure, install-config or the metadata service: set spec.aws.region of the MachineEventSource.',
};

/** Groups instances by region. */
async function byRegion(
  { aws }: EventSource,
  machines: ReadonlyMap<string, string>,
  reach: Reach,
  signal: AbortSignal,
): Promise<ReadonlyMap<string | undefined, readonly string[]>> {
  const groups = new Map<string | undefined, string[]>();
  let usual: string | undefined;
  let isAsked = false;
  for (const [instance, providerId] of machines) {
    let region = aws?.region ?? regionOfProviderId(providerId);
    if (region === undefined) {
      if (!isAsked) usual = await defaultRegion(reach, signal);
      isAsked = true;
      region = usual;
    }
    groups.set(region, [...(groups.get(region) ?? []), instance]);
  }
  return groups;
}

function nothing(source: string, trouble?: SourceError): SourceObservation {
  return {
    source,
    looked: new Set(),
    events: [],
    unknown: [],
    ...(trouble && { trouble }),
  };
}

function joined(source: string, all: readonly SourceObservation[]): SourceObservation {
  const trouble = all.find(one => one.trouble !== undefined)?.trouble;
  return {
    source,
    looked: new Set(all.flatMap(({ looked }) => [...looked])),
    events: all.flatMap(({ events }) => events),
    unknown: all.flatMap(({ unknown }) => unknown),
    ...(trouble && { trouble }),
  };
}

function strangeEndpoint(endpoint: string): SourceError {
  return {
    reason: 'EndpointNotAllowed',
    message: `spec.aws.endpoint is ${endpoint.slice(0, 300)}, which is neither Amazon's over https nor named to the operator: it is not asked. Start the operator with --allowed-aws-endpoint for it`,
  };
}

/**
 * Returns a scanner that queries EC2 according to a MachineEventSource, one region after the other.
 */
export function scanner(reach: Reach): EventScanner {
  return {
    scan: async (source, machines, signal) => {
      if (machines.size === 0) return nothing(source.name);
      const endpoint = source.aws?.endpoint;
      if (endpoint !== undefined && !mayAsk(endpoint, reach.awsEndpoints ?? []))
        return nothing(source.name, strangeEndpoint(endpoint));
      try {
        const credentials = await credentialsFor(source, reach, signal);
        if (credentials !== 'none' && 'reason' in credentials)
          return nothing(source.name, credentials);
        const seen: SourceObservation[] = [];
        for (const [region, instances] of await byRegion(source, machines, reach, signal)) {
          if (region === undefined) {
            seen.push(nothing(source.name, unknownRegion));
            continue;
          }
          using client = await openEc2({
            region,
            ...(credentials !== 'none' && { credentials }),
            ...(endpoint !== undefined && { endpoint }),
          });
          seen.push(
            await scanEc2({ instances, client, source: source.name, clock: reach.clock, signal }),
          );
        }
        return joined(source.name, seen);
      } catch (error) {
        signal.throwIfAborted();
        return nothing(source.name, {
          reason: 'Failed',
          message: reach.defects.textOf('MachineEventSource', source.name, error),
        });
      }
    },
  };
}

/** Returns the signals of a source: its own, then those of its presets. */
export const signals: SignalReader = (node, source) => {
  return eventsOfNode(
    node,
    [
      ...source.signals,
      ...source.presets.flatMap((name): EventSource['signals'] => signalPresets[name]),
    ],
    source.name,
  );
};
