import { systemClock } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { plainOutput, printText, written } from '../shared/output.ts';
import { version } from '../shared/version.ts';
import { withCluster } from '../shared/with-cluster.ts';
import type { Check, Finding } from './check-terms.ts';
import { checks } from './checks.ts';
import { gatherFacts, type InstallationFacts } from './facts.ts';

export type CheckFlags = ConnectionFlags & { readonly output: 'text' | 'json' };

type Checked = {
  readonly name: string;
  readonly well?: string;
  readonly findings: readonly Finding[];
};

function checked(facts: InstallationFacts, { name, well, findings }: Check): Checked {
  const found = findings(facts);
  return { name, ...(found.length === 0 && { well: well(facts) }), findings: found };
}

const words: Readonly<Record<Finding['severity'], string>> = { Error: 'FAIL', Warning: 'WARN' };

/** Formats a check as columns: result, name, message; the remedy on the line below. */
function linesOf({ name, well, findings }: Checked): readonly string[] {
  const start = (word: string): string => `${word.padEnd(4)}  ${name.padEnd(18)}  `;
  if (well !== undefined) return [start('ok') + well];
  return findings.flatMap(({ severity, message, remedy }) => [
    start(words[severity]) + message,
    `${' '.repeat(26)}help: ${remedy}`,
  ]);
}

/** Returns the results of all checks. */
export function checkAll(facts: InstallationFacts): readonly Checked[] {
  return checks.map(check => checked(facts, check));
}

/**
 * `drydock check`: reads the cluster and prints what is missing or wrong, with remedies. Throws
 * when an Error is found; changes nothing.
 */
export async function check(
  flags: CheckFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  await withCluster(flags, env, async connection => {
    const facts = await gatherFacts(connection, systemClock, version());
    const all = checkAll(facts);
    if (flags.output === 'json') printText(written({ checks: all, unread: facts.unread }, 'json'));
    else for (const line of all.flatMap(linesOf)) plainOutput.line(line);
    for (const what of facts.unread) plainOutput.note(`drydock: left out: ${what}`);
    const errors = all
      .flatMap(({ findings }) => findings)
      .filter(({ severity }) => severity === 'Error').length;
    if (errors > 0)
      throw new Error(`${errors} ${errors === 1 ? 'error' : 'errors'} found; see above`);
  });
}
