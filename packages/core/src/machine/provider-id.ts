import { isUid } from '@drydock/apimachinery';

/**
 * Names of machines in clouds: spec.providerID of Nodes and Machines, the names in their metadata
 * services and announcements, and longer names (ARNs, resource ids, links). The table of the
 * documented forms is in `provider-id.test.ts`.
 */

type Parts = { readonly scheme: string; readonly path: readonly string[] };

/** Form of Oracle Cloud: `ocid1.instance.oc1.phx.…`, without a scheme. */
const ocid = /^ocid1\.[a-z]+\.\S+$/;

/** Form of Alibaba Cloud: region and instance, `cn-hangzhou.i-…`, without a scheme. */
const alibaba = /^[a-z]{2}(?:-[a-z0-9]+)+\.(i-[a-z0-9]+)$/;

function schemeOf(providerId: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):\/\/\S+$/i.exec(providerId)?.[1]?.toLowerCase();
}

/** Removes a scheme that others write for the two clouds that write none. */
function withoutScheme(providerId: string): string {
  return /^(?:oci:\/\/(?=ocid1\.)|alicloud:\/\/)(.*)$/s.exec(providerId)?.[1] ?? providerId;
}

/**
 * Normalizes the case where it has no meaning: Azure Resource Manager writes its ids in any case,
 * and a UUID is the same in both cases (RFC 9562). All other ids are compared as written.
 */
function comparable(providerId: string): string {
  const bare = withoutScheme(providerId);
  const scheme = schemeOf(bare);
  if (scheme === 'azure') return bare.toLowerCase();
  const last = bare.split('/').at(-1) ?? '';
  if (!isUid(last)) return bare;
  // Only some controllers of OpenStack write the region.
  return scheme === 'openstack'
    ? `openstack:///${last.toLowerCase()}`
    : `${bare.slice(0, -last.length)}${last.toLowerCase()}`;
}

/** Reports whether both are given and name the same machine of the same provider. */
export function isSameProviderId(one: string | undefined, other: string | undefined): boolean {
  return (
    one !== undefined && one !== '' && other !== undefined && comparable(one) === comparable(other)
  );
}

/**
 * Returns the name of the machine in the cloud: the last part of its providerID. A machine of an
 * Azure scale set is `set_0`, as in Azure's metadata service and its events: its last part alone
 * (`0`) is the same in every set. Undefined for a text that is not a providerID of a known form.
 */
export function instanceOf(providerId: string | undefined): string | undefined {
  const bare = withoutScheme(providerId ?? '');
  if (ocid.test(bare)) return bare;
  const ofAlibaba = alibaba.exec(bare)?.[1];
  if (ofAlibaba !== undefined) return ofAlibaba;
  const last = schemeOf(bare) === undefined ? undefined : bare.split('/').at(-1);
  if (last === undefined || last === '') return undefined;
  const set = /\/virtualMachineScaleSets\/([^/]+)\/virtualMachines\/[^/]+$/i.exec(bare)?.[1];
  return set === undefined ? last : `${set}_${last}`;
}

/**
 * Returns the group of objects that may be the same machine: objects with the same providerID are
 * in the same group. Undefined without a providerID.
 */
export function identityGroup({
  providerId,
}: {
  readonly providerId?: string;
}): string | undefined {
  return providerId === undefined || providerId === ''
    ? undefined
    : comparable(instanceOf(providerId) ?? providerId).toLowerCase();
}

function isSameInstance(providerId: string, name: string): boolean {
  const instance = instanceOf(providerId);
  if (instance === undefined) return false;
  const ignoresCase = schemeOf(providerId) === 'azure' || isUid(instance);
  return ignoresCase ? instance.toLowerCase() === name.toLowerCase() : instance === name;
}

/**
 * Parsers of names that are longer than an instance, to the providerID that they stand for; an
 * empty part matches everything.
 */
const fullNames: readonly ((name: string) => string | undefined)[] = [
  // EC2: ARN.
  name => {
    const [, region, id] =
      /^arn:aws[a-z-]*:ec2:([a-z0-9-]*):\d*:instance\/(i-[0-9a-f]+)$/.exec(name) ?? [];
    return id && `aws:///${region === '' ? '' : `${region}*`}/${id}`;
  },
  // Azure: resource id, also of a child of the machine, as in the subjects of Event Grid.
  name => {
    const resource =
      /^(?:https:\/\/management\.azure\.com)?(\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/Microsoft\.Compute\/(?:virtualMachineScaleSets\/[^/]+\/)?virtualMachines\/[^/]+)(?:\/providers\/.+)?$/i;
    const id = resource.exec(name)?.[1];
    return id && `azure://${id}`;
  },
  // Compute Engine: links and relative names.
  name => {
    const resource =
      /^(?:(?:https:)?\/\/(?:www|compute)\.googleapis\.com\/(?:compute\/[a-z0-9]+\/)?|compute\.googleapis\.com\/|\/)?projects\/([^/]+)\/zones\/([^/]+)\/instances\/([^/]+)$/;
    const [, project, zone, instance] = resource.exec(name) ?? [];
    return instance && `gce://${project}/${zone}/${instance}`;
  },
  // Alibaba Cloud: resource name.
  name => {
    const [, region, id] = /^acs:ecs:([a-z0-9-]+):\d*:instance\/(i-[a-z0-9]+)$/.exec(name) ?? [];
    return id && `${region}.${id}`;
  },
];

/** Returns the providerID that a longer name stands for; the name itself if it is none. */
function asProviderId(name: string): string {
  for (const read of fullNames) {
    const found = read(name);
    if (found) return found;
  }
  return name;
}

/**
 * Returns the name in the cloud of a machine that is named by its providerID, by a longer name, or
 * by that name itself.
 */
export function instanceIn(name: string): string {
  return instanceOf(asProviderId(name)) ?? name;
}

function partsOf(providerId: string): Parts | undefined {
  const text = comparable(providerId);
  const scheme = schemeOf(text);
  return scheme === undefined
    ? undefined
    : { scheme, path: text.slice(scheme.length + 3).split('/') };
}

function isSamePart(one: string, other: string): boolean {
  return (
    one === '' ||
    other === '' ||
    one === other ||
    (other.endsWith('*') && one.startsWith(other.slice(0, -1)))
  );
}

/**
 * Reports whether both have the same scheme and no differing part: some leave the zone out, and an
 * ARN contains the region only.
 */
function isSamePath(providerId: string, other: string): boolean {
  const [one, two] = [partsOf(providerId), partsOf(other)];
  if (
    one === undefined ||
    two === undefined ||
    one.scheme !== two.scheme ||
    one.path.length !== two.path.length
  )
    return false;
  return (
    one.path.every((part, at) => isSamePart(part, two.path[at] ?? '')) &&
    one.path.at(-1) === two.path.at(-1)
  );
}

/** Reports whether this name of a machine means the one with this providerID. */
export function isCalled(providerId: string, name: string): boolean {
  if (name === '') return false;
  const full = asProviderId(name);
  return (
    isSameProviderId(providerId, name) ||
    isSameProviderId(providerId, full) ||
    isSamePath(providerId, full) ||
    isSameInstance(providerId, name)
  );
}

/**
 * Reports whether EC2 knows it. Fargate's nodes and other machines with a providerID of AWS are no
 * instances.
 */
export function isEc2Instance(providerId: string): boolean {
  return /^aws:\/\/[^/]*\/[^/]*\/i-[^/\s]+$/.test(providerId);
}

/**
 * Providers by the schemes of clouds whose metadata services agents read: names with these schemes
 * are also in those services.
 */
const agentSchemes: ReadonlyMap<string, string> = new Map([
  ['aws', 'aws'],
  ['azure', 'azure'],
  ['gce', 'gcp'],
]);

/**
 * Reports whether the agent's facts about a machine are about its own node. The providerID of any
 * other scheme (k3s, metal3, …) is a name that the metadata service does not have, and is no
 * contradiction.
 */
export function isAgentsOwn(
  reported: { readonly provider: string; readonly instance: string },
  providerId: string | undefined,
): boolean {
  const cloud = agentSchemes.get(schemeOf(providerId ?? '') ?? '');
  if (providerId === undefined || cloud === undefined) return true;
  return cloud === reported.provider && isSameInstance(providerId, reported.instance);
}
