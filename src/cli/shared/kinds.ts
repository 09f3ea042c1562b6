import { leaseNamespaces } from '../../apis/lease-namespaces.ts';
import { type KubevirtAlpha, kubevirtAlphaOfOurs } from '../../apis/node-maintenance/kubevirt.ts';
import { served } from '../../apis/served.ts';
import type { KindAdapter } from '../../core/request/request.ts';
import type { Api } from '../../kube/api.ts';
import type { Clock } from '../../support/clock.ts';
import type { Env } from '../../support/env.ts';
import type { Log } from '../../support/log.ts';
import type { PanicHandler } from '../../support/panic-handler.ts';

/** Seconds between retries. */
const pause = 2;

/**
 * Name of the leader's Lease, which the replaced operator uses too: so it and Drydock never act at
 * the same time.
 */
export const leaderLease = '135b1886.medik8s.io';

type ResourceList = { readonly resources?: readonly { readonly name: string }[] };

/**
 * Returns the resources of one version; empty when it is not served. Throws when discovery fails.
 */
const resourcesOf = async (api: Api, version: string, signal?: AbortSignal): Promise<ReadonlySet<string>> => {
  const { status, body } = await api.call({ method: 'GET', path: `/apis/kubevirt.io/${version}` }, signal);
  if (status === 404) return new Set();
  if (status !== 200) throw new Error(`failed to discover what kubevirt.io/${version} serves: HTTP ${status}`);
  return new Set(((body as ResourceList).resources ?? []).map(({ name }) => name));
};

/**
 * Returns the oldest kind as the cluster has it: an installed CRD can neither change its scope nor
 * gain a version.
 */
const kubevirtAlphaHere = async (api: Api, signal?: AbortSignal): Promise<KubevirtAlpha> => {
  for (const version of ['v1alpha1', 'v1alpha3'] as const) {
    const resources = await resourcesOf(api, version, signal);
    if (resources.has('nodemaintenances')) return { version, statusSubresource: resources.has('nodemaintenances/status') };
  }
  return kubevirtAlphaOfOurs;
};

/**
 * Returns the supported kinds as this cluster has them. Throws when the API server does not
 * respond.
 */
export const kindsOf = async (api: Api, env: Env): Promise<readonly KindAdapter[]> =>
  served({ ...leaseNamespaces(env), kubevirtAlpha: await kubevirtAlphaHere(api) });

/** Returns whether any of the kinds is installed: an empty list alone does not show that. */
export const isAnyServed = async (api: Api, adapters: readonly KindAdapter[]): Promise<boolean> => {
  const answers = await Promise.all(adapters.map(({ path }) => api.call({ method: 'GET', path, query: { limit: 1 } })));
  return answers.some(({ status }) => status !== 404);
};

/**
 * Options for calls to an API server that may not respond yet: retried until the signal is aborted.
 */
export type Reach = {
  readonly api: Api;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
  readonly signal: AbortSignal;
};

/**
 * Returns the kinds as `kindsOf` does, but retries until the API server responds; undefined when
 * the signal is aborted before.
 */
export const kindsHere = async (
  { api, clock, log, defects, signal }: Reach,
  namespaces: ReturnType<typeof leaseNamespaces>,
): Promise<readonly KindAdapter[] | undefined> => {
  while (!signal.aborted) {
    try {
      return served({ ...namespaces, kubevirtAlpha: await kubevirtAlphaHere(api, signal) });
    } catch (error) {
      if (signal.aborted) return undefined;
      log.warn('failed to discover the served kinds; retrying', { error: defects.textOf('Process', 'kinds', error) });
    }
    await clock.sleep(pause * 1000, signal);
  }
  return undefined;
};
