import { statusMessage } from '@drydock/apimachinery';
import type { Api } from '@drydock/kube-client';

/** Result of a dry run with an object that the webhook has to refuse; nothing is stored. */
export type WebhookTrial =
  /** The webhook was called, and refused the object. */
  | { readonly kind: 'refused' }
  /** The webhook was not called, or it allowed the object. */
  | { readonly kind: 'passed' }
  /** The webhook did not respond: no object is accepted. */
  | { readonly kind: 'failed'; readonly why: string }
  /** The webhook was not reached: another check refused the object first. */
  | { readonly kind: 'untried'; readonly why: string };

/**
 * Object for a node that cannot exist: names of nodes have no underscore, and the API server does
 * not check this.
 */
const object = {
  apiVersion: 'nodemaintenance.medik8s.io/v1beta1',
  kind: 'NodeMaintenance',
  metadata: { generateName: 'drydock-check-' },
  spec: { nodeName: 'no_such_node', reason: 'drydock check' },
};

/**
 * Pattern of Drydock's denials, in each generation of OLM too: OLM keeps the webhook's name from
 * the bundle.
 */
const ofOurs = /webhook "vnodemaintenance\.kb\.io"/;

/** Creates, as a dry run, a NodeMaintenance of a node that cannot exist. */
export async function tryWebhook(api: Api): Promise<WebhookTrial> {
  const path = '/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances';
  const response = await api.call({ method: 'POST', path, query: { dryRun: 'All' }, body: object });
  if (response.status === 201) return { kind: 'passed' };
  const why = statusMessage(response);
  if (!ofOurs.test(why)) return { kind: 'untried', why };
  return why.includes('denied the request') ? { kind: 'refused' } : { kind: 'failed', why };
}
