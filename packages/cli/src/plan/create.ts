import type { JsonObject, LabelSelector } from '@drydock/apimachinery';
import { parseSelector } from '@drydock/apimachinery';
import { readMaintenancePlan } from '@drydock/apis';
import { planApi, plansPath } from '@drydock/core/plan';
import { planExpressions } from '@drydock/operator/plans';
import { UsageError } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { amount, positive } from '../shared/fail.ts';
import { plainOutput, printText, written } from '../shared/output.ts';
import { ApiError, refusedError } from '../shared/requests.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { notServed, titleOfPlan } from './why-plans.ts';

export type CreateFlags = ConnectionFlags & {
  readonly selector?: string;
  readonly image?: string;
  readonly command?: boolean;
  readonly external?: string;
  readonly reboot?: boolean;
  readonly replace?: boolean;
  readonly due?: string;
  readonly maxInFlight?: string;
  readonly maxUnavailable?: string;
  readonly canary?: string;
  readonly dryRun: 'none' | 'client' | 'server';
  readonly output?: 'json' | 'yaml' | 'name';
};

function selectorOf(text: string | undefined): LabelSelector {
  if (text === undefined)
    throw new UsageError(
      "select the nodes with --selector, for example pool=blue; --selector='' selects all nodes",
    );
  const selector = parseSelector(text);
  if (selector === undefined)
    throw new UsageError(
      `invalid value "${text}" for --selector: expected a label selector such as pool=blue,!gpu`,
    );
  // Equality labels, in the form that users write.
  const all = selector.matchExpressions ?? [];
  const isPlain = ({ key, operator, values = [] }: (typeof all)[number]): boolean =>
    operator === 'In' && values.length === 1 && all.filter(one => one.key === key).length === 1;
  const plain = all.filter(isPlain);
  const others = all.filter(one => !isPlain(one));
  return {
    ...(plain.length > 0 && {
      matchLabels: Object.fromEntries(plain.map(({ key, values = [] }) => [key, values[0] ?? ''])),
    }),
    ...(others.length > 0 && { matchExpressions: others }),
  };
}

function containerOf(image: string, words: readonly string[], isCommand: boolean): JsonObject {
  return {
    name: 'work',
    image,
    ...(words.length > 0 && (isCommand ? { command: words } : { args: words })),
    securityContext: { privileged: true },
  };
}

function workOf(
  words: readonly string[],
  { image, command, external, reboot, replace }: CreateFlags,
): JsonObject {
  if (image !== undefined && external !== undefined)
    throw new UsageError('the work is an image or external: give --image or --external');
  if (replace === true && (image !== undefined || external !== undefined || reboot === true))
    throw new UsageError(
      'a machine that is replaced is not worked on: give --replace without --image, --external and --reboot',
    );
  if (image === undefined && (words.length > 0 || command === true)) {
    throw new UsageError('words after -- and --command need the image of the work: add --image');
  }
  if (external !== undefined && reboot === true)
    throw new UsageError('the work is external or a reboot: give --external or --reboot');
  if (command === true && words.length === 0)
    throw new UsageError('--command needs the command after --, for example -- /bin/update now');
  if (external !== undefined) return { external: { finished: { expression: external } } };
  if (replace === true) return { replace: { strategy: 'ReplaceWithSurge' } };
  if (image === undefined) return reboot === true ? { reboot: {} } : { none: {} };
  const podSpec = { hostPID: true, containers: [containerOf(image, words, command === true)] };
  return { job: { podSpec, ...(reboot === true && { rebootsNode: true }) } };
}

function concurrencyOf({ maxInFlight, maxUnavailable }: CreateFlags): JsonObject {
  return {
    ...(maxInFlight !== undefined && { maxInFlight: amount('--max-in-flight', maxInFlight) }),
    ...(maxUnavailable !== undefined && {
      maxUnavailable: amount('--max-unavailable', maxUnavailable),
    }),
  };
}

/**
 * Returns one line with the flag's name instead of the field's: the compiler's first line, which
 * has the position.
 */
function flagOfProblem(problem: string): string {
  const [line = ''] = problem.split('\n');
  const named = line
    .replace('spec.due.expression:', '--due:')
    .replace('spec.work.external.finished.expression:', '--external:');
  return named.replace('ERROR: <input>:', 'invalid expression at ');
}

/**
 * Returns the plan for these flags. Throws a UsageError that names the flag and its valid values.
 */
export function planFor(name: string, words: readonly string[], flags: CreateFlags): JsonObject {
  const { due, canary } = flags;
  const concurrency = concurrencyOf(flags);
  const plan = {
    apiVersion: planApi,
    kind: 'MaintenancePlan',
    metadata: { name },
    spec: {
      nodeSelector: selectorOf(flags.selector),
      ...(due !== undefined && { due: { expression: due } }),
      ...(Object.keys(concurrency).length > 0 && { concurrency }),
      ...(canary !== undefined && {
        stages: [{ name: 'canary', limit: positive('--canary', canary), approveAfter: true }],
      }),
      work: workOf(words, flags),
    },
  };
  const { problem } = planExpressions(readMaintenancePlan(plan));
  if (problem !== undefined) throw new UsageError(flagOfProblem(problem));
  return plan;
}

const suffixes = { none: '', client: ' (dry run)', server: ' (server dry run)' } as const;

function printCreated(name: string, plan: JsonObject, { output, dryRun }: CreateFlags): void {
  if (output === 'json' || output === 'yaml') return printText(written(plan, output));
  plainOutput.line(
    output === 'name' ? titleOfPlan(name) : `${titleOfPlan(name)} created${suffixes[dryRun]}`,
  );
}

/**
 * `drydock plan create NAME -l LABELS --image IMAGE [-- WORDS…]`. Throws an ApiError with the
 * server's message.
 */
export async function createPlan(
  name: string,
  words: readonly string[],
  flags: CreateFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const plan = planFor(name, words, flags);
  if (flags.dryRun === 'client') return printCreated(name, plan, flags);
  await withCluster(flags, env, async api => {
    const query = { fieldManager: 'drydock', ...(flags.dryRun === 'server' && { dryRun: 'All' }) };
    const response = await api.call({ method: 'POST', path: plansPath, query, body: plan });
    if (response.status === 404) throw new ApiError(notServed);
    if (response.status !== 201) throw refusedError(response);
    printCreated(name, response.body as JsonObject, flags);
  });
}
