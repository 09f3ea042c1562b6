import { type Cluster, type Kubeconfig, KubeconfigError, type User } from './kubeconfig.ts';

/** One context of a kubeconfig with what it names. */
export type Chosen = {
  readonly name: string;
  readonly namespace: string;
  readonly cluster: Cluster & { readonly server: string };
  readonly user: User;
};

/** The wished context, else the current one. Throws a KubeconfigError that says what is missing, where, and what there is instead. */
export const chooseContext = (config: Kubeconfig, wished?: string): Chosen => {
  const where = config.files.join(', ');
  const name = wished ?? config.currentContext;
  if (name === undefined) {
    throw new KubeconfigError(`the kubeconfig ${where} has no current context; choose one with --context: ${listOf(config.contexts)}`);
  }
  const context = config.contexts.get(name);
  if (context === undefined) throw new KubeconfigError(`there is no context "${name}" in ${where}; there are: ${listOf(config.contexts)}`);
  const cluster = config.clusters.get(context.cluster ?? '');
  if (cluster === undefined) {
    throw new KubeconfigError(`context "${name}" names the cluster "${context.cluster ?? ''}", which is not in ${where}`);
  }
  const user = context.user === undefined || context.user === '' ? {} : config.users.get(context.user);
  if (user === undefined) throw new KubeconfigError(`context "${name}" names the user "${context.user ?? ''}", which is not in ${where}`);
  const { server } = cluster;
  if (server === undefined || server === '') throw new KubeconfigError(`the cluster "${context.cluster ?? ''}" in ${where} has no server`);
  const namespace = context.namespace === undefined || context.namespace === '' ? 'default' : context.namespace;
  return { name, namespace, cluster: { ...cluster, server }, user };
};

const shown = 12;

const listOf = (contexts: ReadonlyMap<string, unknown>): string => {
  const names = [...contexts.keys()].sort();
  if (names.length === 0) return 'none';
  const more = names.length > shown ? ` and ${names.length - shown} more` : '';
  return `${names.slice(0, shown).join(', ')}${more}`;
};
