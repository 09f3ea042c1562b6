import type { ConnectOptions } from '@drydock/kube-client';
import { type Command, Option } from 'commander';
import { seconds } from './fail.ts';

/** Flags that choose the cluster, with kubectl's names. */
export type ConnectionFlags = {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly cluster?: string;
  readonly user?: string;
  readonly server?: string;
  readonly token?: string;
  readonly as?: string;
  readonly asUid?: string;
  readonly asGroup?: readonly string[];
  readonly insecureSkipTlsVerify?: boolean;
  readonly certificateAuthority?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly tlsServerName?: string;
  readonly requestTimeout?: string;
};

/** Rarely used flags of kubectl: supported, but hidden from the help. */
const rarer = [
  ['--cluster <name>', 'cluster of the kubeconfig'],
  ['--user <name>', 'user of the kubeconfig'],
  ['-s, --server <url>', 'address of the API server'],
  ['--token <token>', 'bearer token'],
  ['--as <name>', 'whom to impersonate'],
  ['--as-uid <uid>', 'uid to impersonate'],
  ['--insecure-skip-tls-verify', 'do not check the certificate of the server'],
  ['--certificate-authority <file>', 'authority of the server'],
  ['--client-certificate <file>', 'own certificate'],
  ['--client-key <file>', 'key of the own certificate'],
  ['--tls-server-name <name>', 'name to check the certificate of the server for'],
  [
    '--request-timeout <duration>',
    'give every single call up after this time; 0 for the usual ones',
  ],
] as const;

/** Adds the flags that choose the cluster of a command. */
export function connectionFlags(command: Command): Command {
  command
    .option(
      '--kubeconfig <file>',
      "path of the kubeconfig file (default: KUBECONFIG, ~/.kube/config or the pod's service account)",
    )
    .option('--context <name>', 'context of the kubeconfig to use (default: the current context)')
    .addHelpText(
      'after',
      "\nkubectl's other connection flags (--cluster, --user, --server, --token, --as, --request-timeout and so on) are accepted as well.",
    );
  for (const [flags, text] of rarer) command.addOption(new Option(flags, text).hideHelp());
  const several = (group: string, before: readonly string[] = []): readonly string[] => [
    ...before,
    group,
  ];
  return command.addOption(
    new Option('--as-group <group>', 'group to impersonate; repeat the flag for several groups')
      .argParser(several)
      .hideHelp(),
  );
}

function given<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Partial<T>;
}

/** Returns the connection options for these flags. Throws a UsageError that names the flag. */
export function connectionOf(
  flags: ConnectionFlags,
): Pick<ConnectOptions, 'kubeconfig' | 'context' | 'overrides' | 'requestTimeoutMs'> {
  const timeout = flags.requestTimeout === undefined ? 0 : timeoutSeconds(flags.requestTimeout);
  return {
    kubeconfig: flags.kubeconfig,
    context: flags.context,
    overrides: {
      clusterName: flags.cluster,
      userName: flags.user,
      cluster: given({
        server: flags.server,
        'insecure-skip-tls-verify': flags.insecureSkipTlsVerify,
        'certificate-authority': flags.certificateAuthority,
        'tls-server-name': flags.tlsServerName,
      }) as NonNullable<NonNullable<ConnectOptions['overrides']>['cluster']>,
      user: given({
        token: flags.token,
        'client-certificate': flags.clientCertificate,
        'client-key': flags.clientKey,
        as: flags.as,
        'as-uid': flags.asUid,
        'as-groups': flags.asGroup,
      }) as NonNullable<NonNullable<ConnectOptions['overrides']>['user']>,
    },
    ...(timeout > 0 && { requestTimeoutMs: timeout * 1000 }),
  };
}

/** Parses the request timeout; like kubectl, a bare number means seconds. */
function timeoutSeconds(text: string): number {
  return seconds('--request-timeout', /^\d+$/.test(text) && text !== '0' ? `${text}s` : text);
}

/** Adds the flags for the drain policy, as `drydock maintain` has them. */
export function policyFlags(command: Command): Command {
  return command
    .option('--force', 'also evict pods that declare no controller')
    .option('--delete-emptydir-data', 'also evict pods with emptyDir volumes; their data is lost')
    .option(
      '--disable-eviction',
      'delete pods instead of evicting them, ignoring disruption budgets',
    )
    .addOption(
      new Option(
        '--grace-period <seconds>',
        "seconds each pod gets to terminate (negative: the pod's own grace period)",
      ).default('-1'),
    )
    .addOption(
      new Option(
        '--timeout <duration>',
        'stop draining after this long and keep the node held (0: no limit)',
      ).default('0s'),
    );
}
