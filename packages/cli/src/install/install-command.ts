import { Command, Option } from 'commander';
import type { InstallFlags } from './install.ts';
import { defaultNamespace, defaultParts, extraParts } from './rollout.ts';
import type { UninstallFlags } from './uninstall.ts';

/** Returns an option that takes several of these words. */
function several(flags: string, text: string, words: readonly string[]): Option {
  return new Option(flags, text).choices(words).default([], 'none');
}

/** Returns `drydock install`, without the flags that choose the cluster. */
export function installCommand(env: Readonly<Record<string, string | undefined>>): Command {
  return new Command('install')
    .description(
      'print or apply everything the operator needs: CRDs, RBAC, Deployment, webhook, policies',
    )
    .option('--apply', 'apply to the cluster (server-side) instead of printing')
    .addOption(
      new Option(
        '--dry-run <strategy>',
        'with --apply: print what would be applied and pruned, as the server answers; change nothing',
      )
        .choices(['none', 'server'])
        .default('none'),
    )
    .option('--force-conflicts', 'with --apply: take over fields that other field managers own')
    .option(
      '--take-ownership',
      'with --apply: take the installation over from Helm, with fields that other field managers own; Helm forgets its release',
    )
    .option(
      '--wait',
      'with --apply: wait until the operator is rolled out and its webhook answers; say why when it does not',
    )
    .addOption(new Option('--timeout <duration>', 'with --wait: how long to wait').default('5m'))
    .option('-n, --namespace <name>', 'namespace to run the operator in', defaultNamespace)
    .option('--image <image>', 'image of the operator, as the nodes pull it')
    .option('--replicas <n>', 'number of operator replicas (default: 2)')
    .option(
      '--kube-version <release>',
      'release of Kubernetes to print for, for example 1.30 (default: the newest)',
    )
    .addOption(
      new Option('--kind <group...>', 'also install the older kinds of these API groups').default(
        [],
        'none',
      ),
    )
    .addOption(several('--with <part...>', 'parts to install in addition', extraParts))
    .addOption(
      several(
        '--without <part...>',
        'parts to leave out; --apply prunes what this installation has of them',
        [...defaultParts, ...extraParts],
      ),
    )
    .action(async (flags: InstallFlags) => (await import('./install.ts')).install(flags, env));
}

/** Returns `drydock uninstall`, without the flags that choose the cluster. */
export function uninstallCommand(env: Readonly<Record<string, string | undefined>>): Command {
  return new Command('uninstall')
    .description(
      'show everything that an installation has made in the cluster, or remove it; says what stays, and why',
    )
    .option('--apply', 'remove it instead of showing it')
    .option('-n, --namespace <name>', 'namespace that the operator runs in', defaultNamespace)
    .option(
      '--release-nodes',
      'delete all maintenances first, and wait until the operator has released every node',
    )
    .option(
      '--keep-held',
      'leave nodes that are held as they are, for the operator that is installed next',
    )
    .option(
      '--with-kinds',
      'also delete the kinds of drydock.dev, with all their objects; never those of other operators',
    )
    .addOption(
      new Option('--timeout <duration>', 'with --release-nodes: how long to wait').default('10m'),
    )
    .addHelpText(
      'after',
      '\nExit code 0: shown or removed. 1: refused, because nodes are held or another tool has installed it; or something could not be removed. 2: the command line is invalid.',
    )
    .action(async (flags: UninstallFlags) =>
      (await import('./uninstall.ts')).uninstall(flags, env),
    );
}
