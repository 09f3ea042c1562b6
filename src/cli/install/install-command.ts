import { Command, Option } from 'commander';
import type { InstallFlags } from './install.ts';
import { extraParts, usualNamespace, usualParts } from './install-parts.ts';

/** A flag that takes several of the words. */
const several = (flags: string, text: string, words: readonly string[]): Option =>
  new Option(flags, text).choices(words).default([], 'none');

/** `drydock install`, without the flags that say which cluster. */
export const installCommand = (env: Readonly<Record<string, string | undefined>>): Command =>
  new Command('install')
    .description('print all that a cluster needs to run the operator: kinds, roles, Deployment, webhook, policies; or apply it')
    .option('--apply', 'apply to the cluster (server-side) in place of printing')
    .option('--force-conflicts', 'with --apply: take over fields that others have set')
    .option('-n, --namespace <name>', 'where the operator is to run', usualNamespace)
    .option('--image <image>', 'of the operator, as the nodes of the cluster pull it')
    .option('--replicas <n>', 'of the operator; 2 when left out')
    .addOption(new Option('--kind <group...>', 'install the older kinds of these API groups as well').default([], 'none'))
    .addOption(several('--with <part...>', 'install these as well', extraParts))
    .addOption(several('--without <part...>', 'leave these out', usualParts))
    .action(async (flags: InstallFlags) => (await import('./install.ts')).install(flags, env));
