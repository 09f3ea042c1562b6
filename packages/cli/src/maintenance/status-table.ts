import { joinRows } from '@drydock/apimachinery';
import type { BlockerSummary } from '@drydock/core/drain';
import type { VmsNow } from '@drydock/core/maintenance';
import { columns } from '@drydock/utils';

/** One maintenance, as shown. */
export type Shown = {
  readonly node: string;
  readonly kind: string;
  readonly name: string;
  readonly phase: string;
  readonly level: string;
  readonly reason: string;
  readonly requester: string;
  /** Expected time of completion; empty when it cannot be estimated. */
  readonly ends: string;
  readonly progress: string;
  readonly since: string;
  readonly message: string;
  readonly blockers: readonly BlockerSummary[];
  /** VMs; missing where there are none. */
  readonly virtualMachines?: VmsNow;
};

const maxBlockers = 10;

/** Returns rows of cells in columns three blanks apart, like kubectl's. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
  return columns(rows, 3);
}

function blockerLines({ reason, what, message, remedy, since }: BlockerSummary): readonly string[] {
  return [
    `  ${what === '' ? reason : what}: ${message} (${reason}${since === undefined ? '' : `, since ${since}`})`,
    ...(remedy === undefined ? [] : [`      help: ${remedy}`]),
  ];
}

/** Returns lines for VMs that migrate; the others are among the blockers. */
function vmLines({ summary, open }: VmsNow): readonly string[] {
  const moving = open.filter(({ state }) => state === 'Migrating');
  const lines = moving.slice(0, maxBlockers).map(({ name, message = '', target, progress }) => {
    const percent = progress === undefined ? '' : ` ${progress} %`;
    return `    ${name}${target === undefined ? '' : ` → ${target}`}${percent}${message === '' ? '' : `: ${message}`}`;
  });
  return [
    `  ${summary}`,
    ...lines,
    ...(moving.length > maxBlockers ? [`    and ${moving.length - maxBlockers} more`] : []),
  ];
}

function details({
  node,
  kind,
  name,
  message,
  blockers,
  virtualMachines,
}: Shown): readonly string[] {
  if (blockers.length === 0 && message === '' && virtualMachines === undefined) return [];
  const more = blockers.length > maxBlockers ? [`  and ${blockers.length - maxBlockers} more`] : [];
  const head = `${node}, ${kind} ${name}${message === '' ? '' : `: ${message}`}`;
  const vms = virtualMachines === undefined ? [] : vmLines(virtualMachines);
  return ['', head, ...vms, ...blockers.slice(0, maxBlockers).flatMap(blockerLines), ...more];
}

/** Choice of output: one node or all, few columns or all. */
type Choice = { readonly node: string | undefined; readonly wide: boolean };

const defaults = ['NODE', 'KIND', 'NAME', 'PHASE', 'GONE', 'SINCE', 'REASON'];
const more = ['LEVEL', 'REQUESTER', 'EXPECTED END', 'BLOCKERS'];

function defaultCells(one: Shown): readonly string[] {
  return [one.node, one.kind, one.name, one.phase, one.progress, one.since, one.reason];
}
function moreCells({ level, requester, ends, blockers }: Shown): readonly string[] {
  return [level, requester || '-', ends || '-', String(blockers.length)];
}

/** Returns the whole status as text. */
export function statusTable(
  all: readonly Shown[],
  others: readonly string[],
  { node, wide }: Choice,
): string {
  if (all.length === 0 && others.length === 0) {
    return node === undefined ? 'No node is in maintenance.' : `No maintenance holds node ${node}.`;
  }
  const head = wide ? [...defaults, ...more] : defaults;
  const rows = all.map(one =>
    wide ? [...defaultCells(one), ...moreCells(one)] : defaultCells(one),
  );
  const emptyCells = Array.from({ length: head.length - 4 }, () => '-');
  const cordoned = others.map(name => [name, '-', '-', 'Cordoned by somebody else', ...emptyCells]);
  return joinRows([...table([head, ...rows, ...cordoned]), ...all.flatMap(details)]);
}
