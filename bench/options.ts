import { join } from 'node:path';
import { argumentsOf, count, refuse } from './arguments.ts';
import { type ContenderName, contenderNames } from './contenders/contender.ts';
import { defaults, type Scenario, scenarioNamed } from './scenarios.ts';

export type Options = {
  readonly scenarios: readonly Scenario[];
  readonly contenders: readonly ContenderName[];
  /** Instead of each scenario's own number. */
  readonly runs?: number;
  /** How many evictions the floor has on their way at once. */
  readonly floorConnections: number;
  readonly json: string;
};

export const usage = `usage: npm run bench -- [scenario…] [--runs N] [--json FILE] [--only floor,kubectl,operator,nodemaintenance,drain] [--floor-connections N]
scenarios: ${defaults.join(', ')} (these when none is named), scale`;

function isContender(name: string): name is ContenderName {
  return contenderNames.some(known => known === name);
}

function contendersFrom(only: string): readonly ContenderName[] {
  const names = only.split(',');
  const unknown = names.find(name => !isContender(name));
  if (unknown !== undefined)
    return refuse(`no contender ${unknown}; there are ${contenderNames.join(', ')}`);
  return contenderNames.filter(name => names.includes(name));
}

/** Undefined when help was asked for. Refuses what cannot be measured. */
export function optionsFrom(args: readonly string[]): Options | undefined {
  const text = { type: 'string' } as const;
  const { values, positionals } = argumentsOf({
    args: [...args],
    allowPositionals: true,
    options: {
      runs: text,
      json: text,
      only: text,
      'floor-connections': text,
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) return undefined;
  return {
    scenarios: (positionals.length === 0 ? defaults : positionals).map(scenarioNamed),
    contenders: values.only === undefined ? contenderNames : contendersFrom(values.only),
    ...(values.runs === undefined ? {} : { runs: count('--runs', values.runs, 1) }),
    floorConnections: count('--floor-connections', values['floor-connections'], 32),
    json: values.json ?? join(import.meta.dirname, '..', 'dist', 'bench.json'),
  };
}
