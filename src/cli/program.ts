import { Argument, Command, CommanderError, Option } from 'commander';
import type { AgentFlags } from './agent.ts';
import { complete, completionScript, shells } from './completion.ts';
import type { DashboardFlags } from './dashboard/dashboard.ts';
import type { DemoFlags } from './demo/command.ts';
import { nodeArguments, nodeCommands } from './drain/node-commands.ts';
import { crds, usualGroups } from './install/crds.ts';
import { installCommand } from './install/install-command.ts';
import { maintenanceCommands } from './maintenance/maintenance-commands.ts';
import { machineFlags } from './manager/machine-flags.ts';
import { openStackFlags } from './manager/openstack-flags.ts';
import type { OperatorFlags } from './manager/operator-flags.ts';
import { webhookFlags } from './manager/webhook-flags.ts';
import { type NovaFlags, novaBooleans, novaFlags } from './nova/flags.ts';
import { rehearsalCommands } from './rehearsal/rehearsal-commands.ts';
import { helpWithRights } from './rights.ts';
import { ApiError } from './shared/api-error.ts';
import { connectionFlags } from './shared/connection-flags.ts';
import { exitCodeOf, wrongCall } from './shared/fail.ts';
import { longFlags, plainBooleans } from './shared/go-values.ts';
import { endWithReaders } from './shared/output.ts';
import { version } from './shared/version.ts';

type Env = Readonly<Record<string, string | undefined>>;

const description = `Drydock takes nodes of a Kubernetes cluster out of service safely, keeps them out for as long as the work lasts,
and brings them back.`;

const firstSteps = `
First steps:
  drydock drain NODE                      what kubectl drain does, faster, and it says what blocks; needs no operator

  drydock install --apply                 the operator and its kinds, once (drydock operator runs it from here instead)
  drydock maintain NODE --reason disk     take a node out of service and keep it out
  drydock status                          who holds what, what blocks it, what would help
  drydock release NODE                    the node comes back as it was
`;

/** Flags that the replaced operators have and that change nothing here: manifests that pass them keep working. */
const accepted = [
  ['--enable-http2 [value]', 'accepted; nothing is served over HTTP/2'],
  ['--zap-devel [value]', 'accepted; see --log-format'],
  ['--zap-stacktrace-level <level>', 'accepted; errors carry their cause instead'],
  ['--zap-time-encoding <name>', 'accepted; times are RFC 3339'],
] as const;

const operatorCommand = (env: Env): Command => {
  const command = connectionFlags(new Command('operator'))
    .description('run the operator: serve every maintenance object of the cluster until stopped')
    .option('--metrics-bind-address <address>', 'where /metrics is served; 0 switches it off', ':8080')
    .option('--metrics-secure [value]', 'serve /metrics over HTTPS, to those whom the API server knows and allows to get it', false)
    .option('--metrics-cert-dir <folder>', "tls.crt and tls.key of /metrics; without them the webhook's, or one of its own")
    .option('--health-probe-bind-address <address>', 'where /healthz and /readyz are served; 0 switches them off', ':8081')
    .option(
      '--dashboard-bind-address <address>',
      'where the page for looking is served: a loopback address such as 127.0.0.1:8721; off when left out',
    )
    .option('--leader-elect [value]', 'let only one of several replicas act', false)
    .option('--leader-election-namespace <name>', 'where the leader Lease is; the namespace of the pod or context when left out')
    .option('--zap-log-level <level>', 'debug, info or error, or a number of debug levels')
    .addOption(new Option('--zap-encoder <name>', 'json or console').choices(['json', 'console']))
    .addOption(new Option('--log-format <name>', 'json, or text for people; text on a terminal').choices(['json', 'text']))
    .addOption(new Option('--node-lease-duration-seconds <n>', 'how long the Lease of a held node is asked for').default('3600'));
  command
    .option('--event-intake-bind-address <address>', 'where CloudEvents about machines are taken, for example :8090; 0 switches it off')
    .option(
      '--event-intake-token-file <path>',
      'a file with the token that senders have to show, or a folder with one in each file; read again as they change',
    )
    .option('--event-intake-cert-dir <folder>', 'tls.crt and tls.key of the event intake; plain HTTP without them')
    .addOption(
      new Option('--event-intake-type <type=kind>', 'what a foreign type of CloudEvent means; may be repeated')
        .default([], 'none')
        .argParser((text: string, before: readonly string[]) => [...before, text]),
    );
  webhookFlags(openStackFlags(machineFlags(command)));
  for (const [flags, text] of accepted) command.addOption(new Option(flags, text).hideHelp());
  return command.action(async (flags: OperatorFlags) => (await import('./manager/operator.ts')).operator(flags, env));
};

const crdsCommand = (): Command =>
  new Command('crds')
    .description('print the CustomResourceDefinitions of the served kinds, to be piped into kubectl apply -f -')
    .argument('[group...]', `API groups, of older generations too; ${usualGroups.join(' and ')} when left out`)
    .action((groups: readonly string[]) => crds(groups));

const portFlag = ['--port <n>', 'of the page on this machine; 8720, or any free one where that is taken, when left out'] as const;

const demoCommand = (): Command =>
  new Command('demo')
    .description('a cluster in this process, with operator and page at work in it, to try things on; no real cluster is needed or touched')
    .option(...portFlag)
    .option('--empty', 'the cluster alone, without workloads, operator and page: for tests of your own')
    .action(async (flags: DemoFlags) => (await import('./demo/command.ts')).demo(flags));

const dashboardCommand = (env: Env): Command =>
  connectionFlags(new Command('dashboard'))
    .description('a web page on this machine that shows the cluster, takes nodes out of service and gives them back, as you')
    .option(...portFlag)
    .action(async (flags: DashboardFlags) => (await import('./dashboard/dashboard.ts')).dashboard(flags, env));

const agentCommand = (env: Env): Command =>
  connectionFlags(new Command('agent'))
    .description("on a node of AWS, Azure or Google Cloud: tell the operator what the machine's cloud announces about it")
    .option('--node-name <name>', 'the node that it runs on; NODE_NAME of the environment when left out')
    .addOption(new Option('--provider <name>', 'whose metadata service it is').choices(['auto', 'aws', 'azure', 'gcp']).default('auto'))
    .option('--acknowledge', 'tell Azure that it need not wait, as soon as all nodes of its event are drained')
    .option('--metadata-endpoint <url>', 'another metadata service than http://169.254.169.254, for tests')
    .addOption(new Option('--log-format <name>', 'json, or text for people; text on a terminal').choices(['json', 'text']))
    .action(async (flags: AgentFlags) => (await import('./agent.ts')).agent(flags, env));

const novaCommand = (env: Env): Command =>
  novaFlags(new Command('nova'))
    .description('on an OpenStack hypervisor: move all servers off it, once, or for as long as its node is out of service')
    .action(async (flags: NovaFlags) => (await import('./nova/nova.ts')).nova(flags, env));

const completionCommand = (): Command =>
  new Command('completion')
    .description('print a script that completes commands, flags and nodes in your shell')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .action((shell: string) => void process.stdout.write(completionScript(shell)));

/** Names of nodes for the shell; none where no cluster can be asked, for nobody wants an error while typing. */
const nodeNames = async (env: Env): Promise<readonly string[]> => {
  const names: string[] = [];
  const { withCluster } = await import('./shared/with-cluster.ts');
  const { findNodes } = await import('./shared/nodes.ts');
  const list = withCluster({}, env, async connection => {
    names.push(...(await findNodes(connection, { names: [], selector: '' }, 0)).map(({ name }) => name));
  });
  await list.catch(() => {});
  return names;
};

const program = (env: Env): Command => {
  const root = new Command('drydock').description(description).version(version(), '-v, --version').addHelpText('after', firstSteps);
  const own = [
    operatorCommand(env),
    connectionFlags(installCommand(env)),
    dashboardCommand(env),
    demoCommand(),
    agentCommand(env),
    novaCommand(env),
    crdsCommand(),
    completionCommand(),
  ];
  for (const command of [...maintenanceCommands(env), ...rehearsalCommands(env), ...nodeCommands(env), ...own]) root.addCommand(command);
  for (const command of [root, ...root.commands]) command.exitOverride().showHelpAfterError('(--help shows what there is)');
  return root;
};

const argumentsOf = (args: readonly string[]): readonly string[] => {
  if (args[0] === 'operator') return longFlags(args);
  return args[0] === 'nova' ? plainBooleans(longFlags(args), novaBooleans) : nodeArguments(args);
};

/** What the server said is printed in kubectl's words, and those begin with its own name for it. */
const textOf = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof ApiError ? message : `drydock: ${message}`;
};

/** Runs one command and sets the exit code: 0 done, 1 could not be done, 2 wrong call (of kubectl's commands 1). Never ends with a stack trace. */
export const run = async (args: readonly string[], env: Env): Promise<void> => {
  endWithReaders();
  const root = program(env);
  if (args.length === 0) {
    root.outputHelp();
    return;
  }
  if (args[0] === '__complete') {
    for (const word of await complete(root, args.slice(1), () => nodeNames(env))) process.stdout.write(`${word}\n`);
    return;
  }
  try {
    await root.parseAsync([...argumentsOf(args)], { from: 'user' });
  } catch (error) {
    // Commander has printed its own message by now.
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : wrongCall(args[0]);
    else {
      const text = textOf(error);
      const help = helpWithRights(args[0], text);
      process.stderr.write(help === undefined ? `${text}\n` : `${text}\n${help}\n`);
      process.exitCode = exitCodeOf(error, args[0]);
    }
  }
};
