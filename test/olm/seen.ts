import type { Api } from '../control-plane/objects/api.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { drydock } from '../operator/harness/shipped.ts';
import { home } from './released.ts';

/** What an installation by OLM has made. */

export const webhookConfigurations =
  '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

export type Hook = {
  readonly name: string;
  readonly clientConfig: {
    readonly caBundle?: string;
    readonly service: { readonly path: string };
  };
};

/** The webhooks of all configurations. */
export async function webhooksOf(api: Api): Promise<readonly Hook[]> {
  const { items } = await api.get<{
    readonly items: readonly { readonly webhooks: readonly Hook[] }[];
  }>(webhookConfigurations);
  return items.flatMap(({ webhooks }) => webhooks);
}

const asked: readonly (readonly string[])[] = [
  ['patch', 'nodes'],
  ['create', 'pods', '--subresource=eviction', '--all-namespaces'],
  ['update', 'leases.coordination.k8s.io', `--namespace=${home}`],
  ['delete', 'leases.coordination.k8s.io', '--namespace=medik8s-leases'],
  ['update', 'leases.coordination.k8s.io', '--namespace=kube-system'],
  ['get', 'secrets', '--all-namespaces'],
];

/** What the operator may do of some things that it needs, and some that it must not. */
export async function rightsOf(controlPlane: ControlPlane): Promise<readonly string[]> {
  const user = `--as=system:serviceaccount:${home}:drydock`;
  const replies = await Promise.all(
    asked.map(args => controlPlane.kubectl(['auth', 'can-i', ...args, user])),
  );
  return replies.map(({ stdout }, at) => `${asked[at]?.join(' ') ?? ''}: ${stdout.trim()}`);
}

/** Those that it needs, and no other. */
export const intendedRights: readonly string[] = asked.map(
  (args, at) => `${args.join(' ')}: ${at < 4 ? 'yes' : 'no'}`,
);

/**
 * What `drydock check` finds missing or wrong in what is installed; not whether it runs, for its
 * pods have no processes here.
 */
export async function installedFindings(controlPlane: ControlPlane): Promise<readonly string[]> {
  const { stdout } = await drydock(['check', '--kubeconfig', controlPlane.kubeconfig]);
  const found = [...stdout.matchAll(/^(\S+) +(kinds|webhook|rights|admission policies) +(.*)$/gm)];
  for (const name of ['kinds', 'webhook', 'rights', 'admission policies'])
    if (!found.some(([, , about]) => about === name))
      throw new Error(`drydock check says nothing of ${name}:\n${stdout}`);
  return found
    .filter(([, state]) => state !== 'ok')
    .map(([, state = '', about = '', what = '']) => `${state} ${about} ${what}`);
}
