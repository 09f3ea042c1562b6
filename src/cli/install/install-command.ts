import { Command, Option } from 'commander';
import type { InstallFlags } from './install.ts';
import { extraParts, usualNamespace, usualParts } from './install-parts.ts';

/** A flag that takes several of the words. */
const several = (flags: string, text: string, words: readonly string[]): Option =>
  new Option(flags, text).choices(words).default([], 'none');

/** `drydock install`, without the flags that say which cluster. */
export const installCommand = (env: Readonly<Record<string, string | undefined>>): Command =>
  new Command('install')
    .description('print or apply everything the operator needs: CRDs, RBAC, Deployment, webhook, policies')
    .option('--apply', 'apply to the cluster (server-side) instead of printing')
    .option('--force-conflicts', 'with --apply: take over fields that other field managers own')
    .option('-n, --namespace <name>', 'namespace to run the operator in', usualNamespace)
    .option('--image <image>', 'image of the operator, as the nodes pull it')
    .option('--replicas <n>', 'number of operator replicas (default: 2)')
    .option('--kube-version <release>', 'release of Kubernetes to print for, for example 1.30 (default: the newest)')
    .addOption(new Option('--kind <group...>', 'also install the older kinds of these API groups').default([], 'none'))
    .addOption(several('--with <part...>', 'parts to install in addition', extraParts))
    .addOption(several('--without <part...>', 'parts to leave out', usualParts))
    .action(async (flags: InstallFlags) => (await import('./install.ts')).install(flags, env));
