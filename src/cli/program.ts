import { Command, CommanderError, Option } from 'commander';
import { crds, usualGroups } from './crds.ts';
import { exitCodeOf } from './fail.ts';
import { operator } from './operator.ts';
import { type OperatorFlags, operatorArguments } from './operator-flags.ts';
import { type StatusFlags, status } from './status.ts';
import { version } from './version.ts';

type Env = Readonly<Record<string, string | undefined>>;

const description = `Drydock takes nodes of a Kubernetes cluster out of service safely, keeps them out for as long as the work lasts,
and brings them back.`;

const firstSteps = `
First steps, with a kubeconfig that may install CRDs:
  drydock crds | kubectl apply -f -       install the served kinds, once
  drydock operator                        run the operator against the current context
  kubectl apply -f - <<< '{"apiVersion": "drydock.dev/v1alpha1", "kind": "Maintenance", "metadata": {"name": "disk"}, "spec": {"nodeName": "NODE"}}'
  drydock status                          who holds what, what blocks it, what would help
  kubectl delete maintenance disk         the node comes back as it was
`;

const connection = (command: Command): Command =>
  command
    .option('--kubeconfig <file>', 'kubeconfig file; otherwise KUBECONFIG, ~/.kube/config or the service account of the pod')
    .option('--context <name>', 'context of the kubeconfig; the current one when left out');

/** Flags that the replaced operators have and that change nothing here: manifests that pass them keep working. */
const accepted = [
  ['--enable-http2 [value]', 'accepted; nothing is served over HTTP/2'],
  ['--zap-devel [value]', 'accepted; see --log-format'],
  ['--zap-stacktrace-level <level>', 'accepted; errors carry their cause instead'],
  ['--zap-time-encoding <name>', 'accepted; times are RFC 3339'],
] as const;

const operatorCommand = (env: Env): Command => {
  const command = connection(new Command('operator'))
    .description('run the operator: serve every maintenance object of the cluster until stopped')
    .option('--metrics-bind-address <address>', 'where /metrics is served (plain HTTP); 0 switches it off', ':8080')
    .option('--health-probe-bind-address <address>', 'where /healthz and /readyz are served; 0 switches them off', ':8081')
    .option('--leader-elect [value]', 'let only one of several replicas act', false)
    .option('--leader-election-namespace <name>', 'where the leader Lease is; the namespace of the pod or context when left out')
    .option('--zap-log-level <level>', 'debug, info or error, or a number of debug levels')
    .addOption(new Option('--zap-encoder <name>', 'json or console').choices(['json', 'console']))
    .addOption(new Option('--log-format <name>', 'json, or text for people; text on a terminal').choices(['json', 'text']))
    .addOption(new Option('--node-lease-duration-seconds <n>', 'how long the Lease of a held node is asked for').default('3600'));
  for (const [flags, text] of accepted) command.addOption(new Option(flags, text).hideHelp());
  return command.action((flags: OperatorFlags) => operator(flags, env));
};

const statusCommand = (env: Env): Command =>
  connection(new Command('status'))
    .description('who holds which node, what blocks it, since when, and what would help')
    .argument('[node]', 'only this node')
    .addOption(new Option('-o, --output <format>', 'output format').choices(['table', 'json']).default('table'))
    .action((node: string | undefined, flags: StatusFlags) => status(node, flags, env));

const crdsCommand = (): Command =>
  new Command('crds')
    .description('print the CustomResourceDefinitions of the served kinds, to be piped into kubectl apply -f -')
    .argument('[group...]', `API groups, of older generations too; ${usualGroups.join(' and ')} when left out`)
    .action((groups: readonly string[]) => crds(groups));

const program = (env: Env): Command => {
  const root = new Command('drydock').description(description).version(version(), '-v, --version').addHelpText('after', firstSteps);
  for (const command of [operatorCommand(env), statusCommand(env), crdsCommand()]) root.addCommand(command);
  for (const command of [root, ...root.commands]) command.exitOverride().showHelpAfterError('(--help shows what there is)');
  return root;
};

/** Runs one command and sets the exit code: 0 done, 1 could not be done, 2 wrong call. Never ends with a stack trace. */
export const run = async (args: readonly string[], env: Env): Promise<void> => {
  const root = program(env);
  if (args.length === 0) {
    root.outputHelp();
    return;
  }
  try {
    await root.parseAsync([...operatorArguments(args)], { from: 'user' });
  } catch (error) {
    // Commander has printed its own message by now.
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
    else {
      process.stderr.write(`drydock: ${error instanceof Error ? error.message : String(error)}\n`);
      process.exitCode = exitCodeOf(error);
    }
  }
};
