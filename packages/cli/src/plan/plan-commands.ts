import type { Env } from '@drydock/utils';
import { Command, Option } from 'commander';
import { defaultNamespace } from '../install/rollout.ts';
import { copyFlags } from '../rehearsal/copy-options.ts';
import type { RehearsePlanFlags } from '../rehearsal/rehearse-plan.ts';
import { type ConnectionFlags, connectionFlags } from '../shared/connection-flags.ts';
import type { ApproveFlags } from './approve.ts';
import type { PlanSwitch } from './control.ts';
import type { CreateFlags } from './create.ts';
import type { HaltFlags } from './halt.ts';
import type { HistoryFlags } from './history.ts';
import type { RetryFlags, SkipFlags } from './node-choices.ts';
import type { PauseFlags } from './pause.ts';
import type { PromoteFlags } from './promote.ts';
import type { PlanStatusFlags } from './status.ts';

function needs(role: string): string {
  return `\nRights: the role ${role} is enough.`;
}
const viewer = needs('drydock-plan-viewer');
const runner = needs('drydock-plan-operator');
const approver = needs('drydock-plan-approver');

function named(word: string, description: string): Command {
  return connectionFlags(new Command(word))
    .description(description)
    .argument('<name>', 'name of the plan');
}

const afterStatus = `
With --watch: a line for each change, and the whole status at the end.
Exit code with --watch, 0: complete. 1: it could not be followed, or the plan was deleted. 2: the call is wrong. 3: the plan waits for an approval. 4: halted or aborted.
${viewer}`;

function statusCommand(env: Env): Command {
  return connectionFlags(new Command('status'))
    .description(
      'show all plans, or one: its stages, nodes in flight, what it waits for and what has failed',
    )
    .argument('[name]', 'only this plan')
    .option(
      '-w, --watch',
      'follow the plan until it is complete, halted or aborted, or waits for an approval',
    )
    .option('--nodes', 'also list the verdict of every node in this run')
    .addOption(
      new Option('-o, --output <format>', 'output format')
        .choices(['table', 'wide', 'json', 'yaml'])
        .default('table'),
    )
    .addHelpText('after', afterStatus)
    .action(async (name: string | undefined, flags: PlanStatusFlags) =>
      (await import('./status.ts')).planStatus(name, flags, env),
    );
}

function switchCommand(word: PlanSwitch, description: string, env: Env): Command {
  return named(word, description)
    .addHelpText('after', runner)
    .action(async (name: string, flags: ConnectionFlags) =>
      (await import('./control.ts')).setSwitch(word, name, flags, env),
    );
}

function pauseCommand(env: Env): Command {
  return named('pause', 'start no more nodes; nodes in flight are finished')
    .option('--reason <text>', 'reason, for people: status.message and drydock why show it')
    .option(
      '--until <time>',
      'when the plan continues by itself: a time (RFC 3339) or a duration such as 2h (default: drydock plan resume)',
    )
    .addHelpText('after', runner)
    .action(async (name: string, flags: PauseFlags) =>
      (await import('./pause.ts')).pause(name, flags, env),
    );
}

function rerunCommand(env: Env): Command {
  return named(
    'rerun',
    'begin a new run of the same work: every node that is due has its turn again',
  )
    .addHelpText('after', runner)
    .action(async (name: string, flags: ConnectionFlags) =>
      (await import('./control.ts')).rerun(name, flags, env),
    );
}

const afterUndo = `
The plan needs spec.rollback. Limits, windows, gates and approvals hold as ever; nodes in flight finish what they do first. drydock plan rerun goes forward again.
${runner}`;

function undoCommand(env: Env): Command {
  return named(
    'undo',
    'take the work back: a new run with the work of spec.rollback, in the reverse order within each stage',
  )
    .addHelpText('after', afterUndo)
    .action(async (name: string, flags: ConnectionFlags) =>
      (await import('./control.ts')).undo(name, flags, env),
    );
}

function retryCommand(env: Env): Command {
  return named('retry', 'set failures of this run aside: the nodes have their turn again')
    .argument('[node...]', 'names of nodes that have failed')
    .option('--failed', 'every node that has failed, instead of naming nodes')
    .addHelpText('after', runner)
    .action(async (name: string, nodes: readonly string[], flags: RetryFlags) =>
      (await import('./node-choices.ts')).retry(name, nodes, flags, env),
    );
}

function skipCommand(env: Env): Command {
  return named('skip', 'exclude a node from the plan')
    .argument('<node>', 'name of the node')
    .requiredOption('--reason <text>', 'reason, for people')
    .addHelpText('after', runner)
    .action(async (name: string, node: string, flags: SkipFlags) =>
      (await import('./node-choices.ts')).skip(name, node, flags, env),
    );
}

function nextCommand(env: Env): Command {
  return named(
    'next',
    'move a node to the front of its stage; limits, windows and approvals still apply',
  )
    .argument('<node>', 'name of the node')
    .addHelpText('after', runner)
    .action(async (name: string, node: string, flags: ConnectionFlags) =>
      (await import('./next.ts')).next(name, node, flags, env),
    );
}

function approveCommand(env: Env): Command {
  return named(
    'approve',
    'approve what the plan waits for: the start of the run, or the stage that follows',
  )
    .argument(
      '[stage]',
      'stage after which the plan may continue (default: the one that it waits after)',
    )
    .option('--yes', 'approve in advance, before the plan waits for it')
    .addHelpText('after', `\nAn approval is for one run of one revision of the work.\n${approver}`)
    .action(async (name: string, stage: string | undefined, flags: ApproveFlags) =>
      (await import('./approve.ts')).approve(name, stage, flags, env),
    );
}

const afterImport = `
Converts Plans of system-upgrade-controller, the DaemonSet of kured and MachineConfigPools of OpenShift. The plans are paused. Settings that
could not be converted, or that you should check, are printed on stderr, with the field. No cluster is contacted.`;

function importCommand(): Command {
  return new Command('import')
    .description('convert the configuration of other upgrade tools to MaintenancePlans, as YAML')
    .argument('<file>', 'file with its objects, as YAML (-: standard input)')
    .addHelpText('after', afterImport)
    .action(async (file: string) => (await import('./import/import.ts')).importPlans(file));
}

const afterRehearse = `
A FILE ends with .yaml, .yml or .json, or is - for the standard input; anything else is the NAME of a plan that exists. Nothing is written to the cluster: it is read
once, and the operator runs the plan on the copy, in this process and in simulated time. --parallel 5%,10%,20% runs it with each of these as
concurrency.maxInFlight, and compares the results.
Exit code 0: the plan is complete in every run. 1: it is not. 2: the command line is invalid.

Rights: the role drydock-maintenance-viewer is enough; with drydock-plan-viewer, plans are found by their names, and times are learned from their records.`;

function rehearseCommand(env: Env): Command {
  return copyFlags(
    connectionFlags(new Command('rehearse'))
      .description(
        'forecast a plan: when it is complete, in which order, what gets stuck and why; read-only',
      )
      .argument('<file|name>', 'file with the MaintenancePlan, or name of one that exists')
      .option(
        '--parallel <amounts>',
        'numbers of nodes at once to compare: numbers or percentages, separated by commas',
      )
      .option('--compare', 'with --parallel: also compare with the plan as it is')
      .option(
        '--work-time <duration>',
        'time the work takes on a node (default: learned from earlier runs, else 1m)',
      )
      .option(
        '--reboot-time <duration>',
        'time a reboot takes (default: learned from earlier runs, else 2m)',
      )
      .addOption(
        new Option(
          '--hook-time <duration>',
          'time that pods of hooks and preparations take',
        ).default('10s'),
      )
      .option(
        '--summary-file <file>',
        'also write the summary for status.forecast to this file (JSON, at most 4 KiB), and exit with 0',
      ),
  )
    .addOption(
      new Option('-o, --output <format>', 'output format')
        .choices(['text', 'json', 'svg'])
        .default('text'),
    )
    .addHelpText('after', afterRehearse)
    .action(async (what: string, flags: RehearsePlanFlags) =>
      (await import('../rehearsal/rehearse-plan.ts')).rehearsePlanCommand(what, flags, env),
    );
}

const afterPromote = `
Creates a MaintenanceApproval, as drydock plan approve does, for one run of one revision of the work. Limits, windows and halting still apply.
${approver}`;

function promoteCommand(env: Env): Command {
  return named(
    'promote',
    'end the soak time of the stage and approve what follows: the plan continues at once',
  )
    .option('--full', 'go through all stages of this run without soak times and approvals')
    .addHelpText('after', afterPromote)
    .action(async (name: string, flags: PromoteFlags) =>
      (await import('./promote.ts')).promote(name, flags, env),
    );
}

function historyCommand(env: Env): Command {
  return named('history', 'show the runs of a plan: how many nodes had which verdict, and when')
    .option('--run <id>', 'the verdicts of the nodes of this run')
    .addOption(
      new Option('-o, --output <format>', 'output format')
        .choices(['table', 'json', 'yaml'])
        .default('table'),
    )
    .addHelpText('after', viewer)
    .action(async (name: string, flags: HistoryFlags) =>
      (await import('./history.ts')).history(name, flags, env),
    );
}

function haltCommand(env: Env): Command {
  return connectionFlags(new Command('halt'))
    .description(
      'stop all plans of the cluster at once, or let them continue; work that has begun is finished',
    )
    .option('--reason <text>', 'stop all plans, with this reason')
    .option('--release', 'let all plans continue')
    .option('-n, --namespace <name>', 'namespace of the operator', defaultNamespace)
    .addHelpText('after', "\nRights: the Role drydock-plan-halt in the operator's namespace.")
    .action(async (flags: HaltFlags) => (await import('./halt.ts')).halt(flags, env));
}

const afterCreate = `
Without --image, --reboot, --replace and --external the nodes are only drained and released. For more, write a file: --dry-run=client -o yaml prints one to start from.
${needs('drydock-plan-author')} A plan with --image runs a privileged pod on every selected node.`;

function createCommand(env: Env): Command {
  return named(
    'create',
    'create a plan: reboot the selected nodes, run an image on them or replace their machines, drained, within limits, one after the other',
  )
    .usage('[options] <name> [-- words...]')
    .argument('[words...]', 'arguments of the image, after --')
    .option(
      '-l, --selector <selector>',
      "labels of the nodes, for example pool=blue,!gpu ('': all nodes)",
    )
    .option(
      '--image <image>',
      'image of the work; it runs privileged in the PID namespace of the node',
    )
    .option(
      '--command',
      'use the words after -- as the command of the image instead of its arguments',
    )
    .option(
      '--reboot',
      'reboot each node; with --image, the image does so: only a new boot ID counts',
    )
    .option('--replace', 'replace the machine of each node; the new machine is Ready first')
    .option(
      '--external <expression>',
      'let somebody else do the work; CEL over node: true when the work has ended',
    )
    .option(
      '--due <expression>',
      'CEL over node: true if the node is due (default: each node once a run)',
    )
    .option(
      '--max-in-flight <n>',
      'how many nodes at once, as a number or a percentage (default: 1)',
    )
    .option(
      '--max-unavailable <n>',
      'how many of the nodes may be out of service, for any reason (default: no limit)',
    )
    .option('--canary <n>', 'begin with N nodes, then wait for drydock plan approve')
    .addOption(
      new Option('--dry-run <strategy>', 'print what would be created')
        .choices(['none', 'server', 'client'])
        .default('none'),
    )
    .addOption(
      new Option('-o, --output <format>', 'print the plan').choices(['json', 'yaml', 'name']),
    )
    .addHelpText('after', afterCreate)
    .action(async (name: string, words: readonly string[], flags: CreateFlags) =>
      (await import('./create.ts')).createPlan(name, words, flags, env),
    );
}

/** Returns `drydock plan`: the commands for MaintenancePlans. */
export function planCommand(env: Env): Command {
  const plan = new Command('plan').description(
    'create, follow and control MaintenancePlans: work on many nodes, within limits, proven done',
  );
  for (const command of [
    createCommand(env),
    statusCommand(env),
    historyCommand(env),
    pauseCommand(env),
    switchCommand('resume', 'continue a paused plan', env),
    approveCommand(env),
    promoteCommand(env),
    retryCommand(env),
    skipCommand(env),
    rehearseCommand(env),
    importCommand(),
    nextCommand(env),
    switchCommand('abort', 'start no more nodes, and release nodes whose work has not begun', env),
    rerunCommand(env),
    undoCommand(env),
    haltCommand(env),
  ])
    plan.addCommand(command);
  return plan;
}
