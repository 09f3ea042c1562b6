import { isObject, type Json } from '@drydock/apimachinery';
import { parse } from 'yaml';

function at(raw: unknown, ...path: readonly string[]): Json | undefined {
  let value = raw as Json | undefined;
  for (const key of path) value = isObject(value) ? value[key] : undefined;
  return value;
}

function text(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * Returns the region in an OpenShift cluster's Infrastructure (config.openshift.io/v1); undefined
 * where it is missing, or the cluster is not on AWS.
 */
export function regionOfInfrastructure(raw: unknown): string | undefined {
  return text(at(raw, 'status', 'platformStatus', 'aws', 'region'));
}

/**
 * Returns the region in the install-config of an OpenShift cluster that is older than
 * `platformStatus` (ConfigMap kube-system/cluster-config-v1, key `install-config`); undefined where
 * it is missing or unreadable.
 */
export function regionOfInstallConfig(raw: unknown): string | undefined {
  const config = text(at(raw, 'data', 'install-config'));
  if (config === undefined) return undefined;
  try {
    return text(at(parse(config), 'platform', 'aws', 'region'));
  } catch {
    // An unreadable config names no region: the caller reports which places it has checked.
    return undefined;
  }
}

/**
 * Pattern of a zone, `us-east-1a`, `us-west-2-lax-1a`, `us-gov-west-1b`: the region, then the
 * zone's letter or the name of a local or wavelength zone.
 */
const regionOfZone = /^([a-z]{2,}(?:-[a-z]+)+-\d+)(?:[a-z]?$|-)/;

/**
 * Returns the region of an AWS providerID, from its zone: `aws:///us-east-1a/i-…`, including local
 * zones (`us-west-2-lax-1a`) and wavelength zones (`us-east-1-wl1-bos-wlz-1`). Undefined for
 * anything else.
 */
export function regionOfProviderId(providerId: string | undefined): string | undefined {
  const zone = /^aws:\/\/[^/]*\/([^/]+)\/[^/]+$/.exec(providerId ?? '')?.[1] ?? '';
  return regionOfZone.exec(zone)?.[1];
}
