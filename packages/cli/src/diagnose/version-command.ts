import type { Api } from '@drydock/kube-client';
import { listAll } from '@drydock/kube-client';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { plainOutput, printText, written } from '../shared/output.ts';
import { releaseOf } from '../shared/requests.ts';
import { version } from '../shared/version.ts';
import { withCluster } from '../shared/with-cluster.ts';

export type VersionFlags = ConnectionFlags & {
  readonly client?: boolean;
  readonly output: 'text' | 'json';
};

type Workload = {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly { readonly image?: string }[] };
    };
  };
};

/**
 * Returns the images of the operators in the cluster, each with its Deployment; undefined when they
 * cannot be listed.
 */
async function operatorsOf(
  api: Api,
): Promise<readonly { readonly deployment: string; readonly image: string }[] | undefined> {
  const found = await listAll(api, '/apis/apps/v1/deployments', {
    labelSelector: 'app.kubernetes.io/name=drydock',
  }).catch(() => undefined);
  return found?.map(raw => {
    const { metadata, spec } = raw as Workload;
    return {
      deployment: `${metadata.namespace}/${metadata.name}`,
      image: spec.template.spec.containers[0]?.image ?? '',
    };
  });
}

/**
 * `drydock version`: prints the versions of the command, of the operators in the cluster, and of
 * the API server. With `--client`, no cluster is contacted.
 */
export async function versionCommand(
  flags: VersionFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const client = { version: version(), node: process.version };
  const isJson = flags.output === 'json';
  if (!isJson) plainOutput.line(`Client Version: ${client.version} (Node ${client.node})`);
  if (flags.client === true) return isJson ? printText(written({ client }, 'json')) : undefined;
  await withCluster(flags, env, async connection => {
    const server = await releaseOf(connection);
    const operators = await operatorsOf(connection);
    if (isJson)
      return printText(written({ client, operators, server: { version: server.version } }, 'json'));
    for (const { deployment, image } of operators ?? [])
      plainOutput.line(`Operator: ${deployment} (${image})`);
    if (operators?.length === 0) plainOutput.line('Operator: not installed');
    plainOutput.line(`Server Version: ${server.version}`);
  });
}
