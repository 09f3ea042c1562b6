import { statusMessage } from '../../core/status.ts';
import type { Api } from '../../operator/ports.ts';

/** What the API server makes of an object that the webhook has to refuse; nothing is stored. */
export type WebhookTrial =
  /** It was asked, and refused. */
  | { readonly kind: 'refused' }
  /** Nobody was asked, or whoever was let it pass. */
  | { readonly kind: 'passed' }
  /** It did not answer: no object is accepted. */
  | { readonly kind: 'failed'; readonly why: string }
  /** It was not its turn: something else stands before it. */
  | { readonly kind: 'untried'; readonly why: string };

/** No node is called so: names of nodes have no underscore, and the API server does not look. */
const object = {
  apiVersion: 'nodemaintenance.medik8s.io/v1beta1',
  kind: 'NodeMaintenance',
  metadata: { generateName: 'drydock-check-' },
  spec: { nodeName: 'no_such_node', reason: 'drydock check' },
};

/** Of each generation of OLM, too: it gives the webhook the name that it has in the bundle. */
const ofOurs = /webhook "vnodemaintenance\.kb\.io"/;

/** Creates, as a dry run, a NodeMaintenance of a node that cannot exist. */
export const tryWebhook = async (api: Api): Promise<WebhookTrial> => {
  const path = '/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances';
  const answer = await api.call({ method: 'POST', path, query: { dryRun: 'All' }, body: object });
  if (answer.status === 201) return { kind: 'passed' };
  const why = statusMessage(answer);
  if (!ofOurs.test(why)) return { kind: 'untried', why };
  return why.includes('denied the request') ? { kind: 'refused' } : { kind: 'failed', why };
};
