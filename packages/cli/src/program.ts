import { defaultGroups } from '@drydock/apis/crds';
import { type Env, errorText } from '@drydock/utils';
import { Argument, Command, CommanderError, Option } from 'commander';
import type { AgentFlags } from './agent.ts';
import { complete, completionScript, shells } from './completion.ts';
import type { DashboardFlags } from './dashboard/dashboard.ts';
import type { DemoFlags } from './demo/command.ts';
import { diagnoseCommands } from './diagnose/diagnose-commands.ts';
import { nodeArguments, nodeCommands } from './drain/node-commands.ts';
import { crds } from './install/crds.ts';
import { installCommand, uninstallCommand } from './install/install-command.ts';
import { maintenanceCommands } from './maintenance/maintenance-commands.ts';
import { machineFlags, type OperatorFlags } from './manager/operator-flags.ts';
import { openStackFlags, webhookFlags } from './manager/webhook-flags.ts';
import { type NovaFlags, novaBooleans, novaFlags } from './nova/run-once.ts';
import { planCommand } from './plan/plan-commands.ts';
import { rehearsalCommands } from './rehearsal/rehearsal-commands.ts';
import { connectionFlags } from './shared/connection-flags.ts';
import { exitCodeOf, longFlags, plainBooleans, shellWord, usageExitCode } from './shared/fail.ts';
import { commanderOutput, exitOnEpipe, plainOutput, printRaw } from './shared/output.ts';
import { ApiError } from './shared/requests.ts';
import { version } from './shared/version.ts';

/** Shipped role that is sufficient for a command. */
const roles: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['status', 'why', 'windows', 'rehearse', 'snapshot', 'plan rehearse'].map(command => [
      command,
      'drydock-maintenance-viewer',
    ]),
  ),
  ...Object.fromEntries(
    ['maintain', 'release'].map(command => [command, 'drydock-maintenance-editor']),
  ),
  ...Object.fromEntries(
    ['drain', 'cordon', 'uncordon'].map(command => [command, 'drydock-drainer']),
  ),
  ...Object.fromEntries(
    ['plan status', 'plan history'].map(command => [command, 'drydock-plan-viewer']),
  ),
  ...Object.fromEntries(
    ['pause', 'resume', 'abort', 'rerun', 'undo', 'retry', 'skip', 'next'].map(word => [
      `plan ${word}`,
      'drydock-plan-operator',
    ]),
  ),
  ...Object.fromEntries(
    ['plan approve', 'plan promote'].map(command => [command, 'drydock-plan-approver']),
  ),
  'plan create': 'drydock-plan-author',
};

/**
 * Returns help for a user who lacks a right, from the API server's message; undefined for other
 * messages, or when no shipped role covers it.
 */
function helpWithRights(args: readonly string[], message: string): string | undefined {
  const [, user] = / is forbidden: User "([^"]+)" cannot /.exec(message) ?? [];
  const [command = '', inner = ''] = args;
  const role = roles[command] ?? roles[`${command} ${inner}`];
  if (user === undefined || role === undefined) return undefined;
  return `help: the role ${role} is enough: kubectl create clusterrolebinding ${shellWord(`${role}-${user}`)} --clusterrole=${role} --user=${shellWord(user)}`;
}

const description = `Drydock takes nodes of a Kubernetes cluster out of service safely, keeps them out for as long as the work lasts,
and brings them back.`;

const firstSteps = `
First steps:
  drydock drain NODE                      as kubectl drain, but faster, and names what blocks; needs no operator

  drydock install --apply                 the operator and its kinds, once (drydock operator runs it from here instead)
  drydock maintain NODE --reason disk     take a node out of service and keep it out
  drydock status                          who holds what, what blocks it, how to fix it
  drydock release NODE                    the node comes back as it was
`;

/**
 * Flags of the replaced operators that have no effect here: manifests that pass them keep working.
 */
const accepted = [
  ['--enable-http2 [value]', 'accepted; nothing is served over HTTP/2'],
  ['--zap-devel [value]', 'accepted; see --log-format'],
  ['--zap-stacktrace-level <level>', 'accepted; errors carry their cause instead'],
  ['--zap-time-encoding <name>', 'accepted; times are RFC 3339'],
] as const;

/** Adds the flags of node maintenances to `drydock operator`. */
function nodeFlags(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--node-lease-duration-seconds <n>',
        'duration of the Lease of a held node, in seconds',
      ).default('3600'),
    )
    .addOption(
      new Option(
        '--eviction-requests <mode>',
        'Auto asks the responders of pods that name some by an EvictionRequest (alpha), where the API server serves it',
      )
        .choices(['Auto', 'Never'])
        .default('Never'),
    );
}

/** Adds the flags for configuration files of other systems to `drydock operator`. */
function configFlags(command: Command): Command {
  return command
    .option(
      '--monitoring-config <file>',
      'YAML file that names the Prometheus and Alertmanager servers that gates of plans may query; reloaded on change',
    )
    .option(
      '--notification-config <file>',
      'YAML file with the receivers of notifications; reloaded on change',
    );
}

function intakeFlags(command: Command): Command {
  return command
    .option(
      '--event-intake-bind-address <address>',
      'address to receive CloudEvents about machines on, for example :8090 (0: off)',
    )
    .option(
      '--event-intake-token-file <path>',
      'file with the bearer token required of senders, or folder with one token per file; reloaded on change',
    )
    .option(
      '--event-intake-cert-dir <folder>',
      'folder with tls.crt and tls.key for the event intake (default: plain HTTP)',
    )
    .addOption(
      new Option(
        '--event-intake-type <type=kind>',
        'map a foreign CloudEvent type to an event kind; may be repeated',
      )
        .default([], 'none')
        .argParser((text: string, before: readonly string[]) => [...before, text]),
    );
}

function operatorCommand(env: Env): Command {
  const command = connectionFlags(new Command('operator'))
    .description(
      'run the operator: reconcile every maintenance object of the cluster until stopped',
    )
    .option('--metrics-bind-address <address>', 'address to serve /metrics on (0: off)', ':8080')
    .option(
      '--metrics-secure [value]',
      'serve /metrics over HTTPS to clients that the API server authenticates and authorizes',
      false,
    )
    .option(
      '--metrics-cert-dir <folder>',
      "folder with tls.crt and tls.key for /metrics (default: the webhook's certificate, else a self-managed one)",
    )
    .option(
      '--health-probe-bind-address <address>',
      'address to serve /healthz and /readyz on (0: off)',
      ':8081',
    )
    .option(
      '--dashboard-bind-address <address>',
      'loopback address to serve the read-only dashboard on, for example 127.0.0.1:8721 (default: off)',
    )
    .option('--leader-elect [value]', 'elect a leader: only one of several replicas acts', false)
    .option(
      '--leader-election-namespace <name>',
      'namespace of the leader Lease (default: the namespace of the pod or context)',
    )
    .option('--zap-log-level <level>', 'log level: debug, info, error or a number of debug levels')
    .addOption(
      new Option('--zap-encoder <name>', 'log encoding: json or console').choices([
        'json',
        'console',
      ]),
    )
    .addOption(
      new Option(
        '--log-format <name>',
        'log format: json or text (default: text on a terminal, else json)',
      ).choices(['json', 'text']),
    );
  webhookFlags(openStackFlags(configFlags(machineFlags(nodeFlags(intakeFlags(command))))));
  for (const [flags, text] of accepted) command.addOption(new Option(flags, text).hideHelp());
  return command.action(async (flags: OperatorFlags) =>
    (await import('./manager/run-operator.ts')).operator(flags, env),
  );
}

function crdsCommand(): Command {
  return new Command('crds')
    .description('print the CustomResourceDefinitions of the served kinds, for kubectl apply -f -')
    .argument('[group...]', `API groups, also older ones (default: ${defaultGroups.join(' and ')})`)
    .action((groups: readonly string[]) => crds(groups));
}

const portFlag = ['--port <n>', 'local dashboard port (default: 8720, or any free port)'] as const;

function demoCommand(): Command {
  return new Command('demo')
    .description(
      'run a demo cluster in-process, with the operator and the dashboard; needs and touches no real cluster',
    )
    .option(...portFlag)
    .option(
      '--empty',
      'start the cluster alone, without workloads, operator and dashboard, for tests of your own',
    )
    .action(async (flags: DemoFlags) => (await import('./demo/command.ts')).demo(flags));
}

function dashboardCommand(env: Env): Command {
  return connectionFlags(new Command('dashboard'))
    .description(
      'open a local dashboard that shows the cluster and starts and ends maintenances with your own rights',
    )
    .option(...portFlag)
    .action(async (flags: DashboardFlags) =>
      (await import('./dashboard/dashboard.ts')).dashboard(flags, env),
    );
}

function agentCommand(env: Env): Command {
  return connectionFlags(new Command('agent'))
    .description(
      'on a node of AWS, Azure or Google Cloud: report what the cloud announces about its machine',
    )
    .option('--node-name <name>', 'node that the agent runs on (default: NODE_NAME)')
    .addOption(
      new Option('--provider <name>', 'provider of the metadata service')
        .choices(['auto', 'aws', 'azure', 'gcp'])
        .default('auto'),
    )
    .option(
      '--termination-notice-seconds <n>',
      'seconds of notice that Google Cloud gives before it stops this machine: 3600 for one with GPUs (default: TERMINATION_NOTICE_SECONDS, else 60)',
    )
    .option('--acknowledge', 'acknowledge the event to Azure as soon as all its nodes are drained')
    .option(
      '--metadata-endpoint <url>',
      'URL of the metadata service, for tests (default: http://169.254.169.254)',
    )
    .addOption(
      new Option(
        '--log-format <name>',
        'log format: json or text (default: text on a terminal, else json)',
      ).choices(['json', 'text']),
    )
    .action(async (flags: AgentFlags) => (await import('./agent.ts')).agent(flags, env));
}

function rebootNodeCommand(): Command {
  return new Command('reboot-node')
    .description('in the pod of a plan with work.reboot: reboot the node that it runs on')
    .action(async () => (await import('./reboot-node.ts')).rebootNode());
}

function novaCommand(env: Env): Command {
  return novaFlags(new Command('nova'))
    .description(
      'on an OpenStack hypervisor: move all servers off it, once or while its node is out of service',
    )
    .action(async (flags: NovaFlags) => (await import('./nova/nova.ts')).nova(flags, env));
}

function completionCommand(): Command {
  return new Command('completion')
    .description('print a shell completion script for commands, flags and nodes')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .action((shell: string) => printRaw(completionScript(shell)));
}

/**
 * Lists names of nodes for the shell; empty when the cluster cannot be reached, because an error
 * would disturb typing.
 */
async function nodeNames(env: Env): Promise<readonly string[]> {
  const names: string[] = [];
  const { withCluster } = await import('./shared/with-cluster.ts');
  const { findNodes } = await import('./shared/nodes.ts');
  const list = withCluster({}, env, async connection => {
    names.push(
      ...(await findNodes(connection, { names: [], selector: '' }, 0)).map(({ name }) => name),
    );
  });
  await list.catch(() => {});
  return names;
}

/** Returns a command and all its subcommands. */
function withInner(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withInner)];
}

/** Returns all commands, with their flags. */
export function program(env: Env): Command {
  const root = new Command('drydock')
    .description(description)
    .version(version(), '-v, --version')
    .addHelpText('after', firstSteps);
  const own = [
    planCommand(env),
    operatorCommand(env),
    connectionFlags(installCommand(env)),
    connectionFlags(uninstallCommand(env)),
    dashboardCommand(env),
    demoCommand(),
    agentCommand(env),
    novaCommand(env),
    crdsCommand(),
    completionCommand(),
  ];
  for (const command of [
    ...maintenanceCommands(env),
    ...rehearsalCommands(env),
    ...nodeCommands(env),
    ...diagnoseCommands(env),
    ...own,
  ])
    root.addCommand(command);
  root.addCommand(rebootNodeCommand(), { hidden: true });
  for (const command of withInner(root))
    command
      .configureOutput(commanderOutput)
      .exitOverride()
      .showHelpAfterError('(--help shows what there is)');
  return root;
}

function argumentsOf(args: readonly string[]): readonly string[] {
  if (args[0] === 'operator') return longFlags(args);
  return args[0] === 'nova' ? plainBooleans(longFlags(args), novaBooleans) : nodeArguments(args);
}

/**
 * Returns the text of an error: the server's errors in kubectl's words, which begin with kubectl's
 * own prefix.
 */
function textOf(error: unknown): string {
  const message = errorText(error);
  return error instanceof ApiError ? message : `drydock: ${message}`;
}

/**
 * Runs one command and sets the exit code: 0 success, 1 failure, 2 usage error (1 for kubectl's
 * commands). Never ends with a stack trace.
 */
export async function run(args: readonly string[], env: Env): Promise<void> {
  exitOnEpipe();
  const root = program(env);
  if (args.length === 0) {
    root.outputHelp();
    return;
  }
  if (args[0] === '__complete') {
    for (const word of await complete(root, args.slice(1), () => nodeNames(env)))
      plainOutput.line(word);
    return;
  }
  try {
    await root.parseAsync([...argumentsOf(args)], { from: 'user' });
  } catch (error) {
    // Commander has already printed its own message.
    if (error instanceof CommanderError)
      process.exitCode = error.exitCode === 0 ? 0 : usageExitCode(args[0]);
    else {
      const text = textOf(error);
      const help = helpWithRights(args, text);
      plainOutput.note(text);
      if (help !== undefined) plainOutput.note(help);
      process.exitCode = exitCodeOf(error, args[0]);
    }
  }
}
