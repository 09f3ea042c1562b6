import { statusMessage } from '@drydock/apimachinery';
import { holdersIn } from '@drydock/core/hold';
import type { Node } from '@drydock/core/node';
import type { Api } from '@drydock/kube-client';
import type { Env } from '@drydock/utils';
import { UsageError } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { integer } from '../shared/fail.ts';
import { findNodes, nodeChoice, nodePath } from '../shared/nodes.ts';
import { type Output, plainOutput } from '../shared/output.ts';
import { withCluster } from '../shared/with-cluster.ts';

/**
 * Modes of kubectl's --dry-run: print the changes only (client), or have the server check them
 * without storing (server).
 */
export type DryRun = 'none' | 'client' | 'server';

/** Returns the mode. Throws a UsageError for a value that kubectl does not know. */
export function dryRunOf(text: string): DryRun {
  if (text === 'none' || text === 'client' || text === 'server') return text;
  throw new UsageError(`invalid value "${text}" for --dry-run: expected none, server, or client`);
}

const suffixes: Readonly<Record<DryRun, string>> = {
  none: '',
  client: ' (dry run)',
  server: ' (server dry run)',
};

/** Returns kubectl's result line, for example `node/n1 cordoned (dry run)`. */
export function resultLine(what: string, operation: string, dryRun: DryRun): string {
  return `${what} ${operation}${suffixes[dryRun]}`;
}

/**
 * Cordons or uncordons the node, unless it already is, and prints kubectl's line. Returns false
 * after printing an error. A patch of this one field needs no precondition: it changes nothing else
 * of the node.
 */
export async function setCordon(
  api: Api,
  node: Node,
  wanted: boolean,
  dryRun: DryRun,
  output: Output,
): Promise<boolean> {
  const word = wanted ? 'cordon' : 'uncordon';
  if (node.unschedulable === wanted) {
    output.line(resultLine(`node/${node.name}`, `already ${word}ed`, dryRun));
    return true;
  }
  if (dryRun !== 'client') {
    const response = await api.call({
      method: 'PATCH',
      path: nodePath(node.name),
      contentType: 'application/strategic-merge-patch+json',
      body: { spec: { unschedulable: wanted ? true : null } },
      ...(dryRun === 'server' && { query: { dryRun: 'All' } }),
    });
    if (response.status !== 200) {
      output.note(`error: unable to ${word} node "${node.name}": ${statusMessage(response)}`);
      return false;
    }
  }
  output.line(resultLine(`node/${node.name}`, `${word}ed`, dryRun));
  return true;
}

/**
 * Refuses to uncordon a node that a maintenance holds: the operator would cordon it again at once,
 * so the maintenance has to end first.
 */
function refuseHeld(node: Node, output: Output): boolean {
  const kinds = holdersIn(node.holdRecord);
  if (kinds.length === 0) return false;
  output.note(
    `error: unable to uncordon node "${node.name}": it is held by a maintenance (${kinds.join(', ')}) that would cordon it again at once; end that with: drydock release ${node.name}`,
  );
  return true;
}

export type CordonFlags = ConnectionFlags & {
  readonly selector?: string;
  readonly dryRun: string;
  readonly chunkSize: string;
};

/**
 * `drydock cordon` and `drydock uncordon`: kubectl's flags, lines and exit codes. Throws the errors
 * of `findNodes`.
 */
export function cordon(
  wanted: boolean,
  names: readonly string[],
  flags: CordonFlags,
  env: Env,
): Promise<void> {
  const choice = nodeChoice(wanted ? 'cordon' : 'uncordon', names, flags.selector);
  const dryRun = dryRunOf(flags.dryRun);
  const pageSize = integer('--chunk-size', flags.chunkSize);
  return withCluster(flags, env, async connection => {
    for (const node of await findNodes(connection, choice, pageSize)) {
      const refused = !wanted && refuseHeld(node, plainOutput);
      const done = !refused && (await setCordon(connection, node, wanted, dryRun, plainOutput));
      if (!done) process.exitCode = 1;
    }
  });
}
