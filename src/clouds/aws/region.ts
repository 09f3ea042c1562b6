import { parse } from 'yaml';
import { isObject, type Json } from '../../core/json.ts';

const at = (raw: unknown, ...path: readonly string[]): Json | undefined => {
  let value = raw as Json | undefined;
  for (const key of path) value = isObject(value) ? value[key] : undefined;
  return value;
};

const text = (value: Json | undefined): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** The region that an OpenShift cluster says it is in (Infrastructure of config.openshift.io/v1); undefined where it says none, or is not on AWS. */
export const regionOfInfrastructure = (raw: unknown): string | undefined => text(at(raw, 'status', 'platformStatus', 'aws', 'region'));

/**
 * The region in the install-config of an OpenShift cluster that is older than `platformStatus` (ConfigMap kube-system/cluster-config-v1, key
 * `install-config`); undefined where there is none or it cannot be read.
 */
export const regionOfInstallConfig = (raw: unknown): string | undefined => {
  const config = text(at(raw, 'data', 'install-config'));
  if (config === undefined) return undefined;
  try {
    return text(at(parse(config), 'platform', 'aws', 'region'));
  } catch {
    // What cannot be read names no region: the caller tells which places it has looked in.
    return undefined;
  }
};

/** `us-east-1a`, `us-west-2-lax-1a`, `us-gov-west-1b`: the region, and then the zone's letter or the name of a local or wavelength zone. */
const regionOfZone = /^([a-z]{2,}(?:-[a-z]+)+-\d+)(?:[a-z]?$|-)/;

/**
 * The region of an AWS providerID, from its zone: `aws:///us-east-1a/i-…`, local zones (`us-west-2-lax-1a`) and wavelength zones
 * (`us-east-1-wl1-bos-wlz-1`) included. Undefined for anything else.
 */
export const regionOfProviderId = (providerId: string | undefined): string | undefined => {
  const zone = /^aws:\/\/[^/]*\/([^/]+)\/[^/]+$/.exec(providerId ?? '')?.[1] ?? '';
  return regionOfZone.exec(zone)?.[1];
};
