import type { DrainPolicy } from '../drain/policy.ts';
import { noMarks } from '../node/marks.ts';
import { type KindAdapter, type MaintenanceRequest, noHistory } from './request.ts';

const nothing = { reason: '', message: '' };

/**
 * Adapter for a drain from the command line, which is no object of the API: it sets no marks, needs
 * no lease and has no status to write.
 */
const adHocAdapter: KindAdapter = {
  name: 'drain',
  apiVersion: 'drydock.dev/v1alpha1',
  kind: 'Drain',
  path: '',
  statusSubresource: false,
  quorum: 'everywhere',
  marks: () => noMarks,
  lease: () => undefined,
  component: 'drydock',
  events: {
    begun: nothing,
    succeeded: nothing,
    failed: nothing,
    removed: nothing,
    uncordoned: nothing,
  },
  status: () => ({}),
  readsDifferentlyAt: () => undefined,
  read: () => 'it is no object of the API',
};

/** Returns a request to drain a node under a policy. */
export function drainRequest(
  nodeName: string,
  policy: DrainPolicy,
  now: Temporal.Instant,
): MaintenanceRequest {
  return {
    key: `drain//${nodeName}`,
    adapter: adHocAdapter,
    name: nodeName,
    uid: `drain-${nodeName}`,
    resourceVersion: '1',
    generation: 1,
    createdAt: now,
    deleting: false,
    finalizers: [],
    claim: 'ours',
    nodeName,
    level: 'Drain',
    mayLoseQuorum: true,
    policy,
    history: noHistory,
    status: {},
  };
}
