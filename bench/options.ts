import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type ContenderName, contenderNames } from './contenders/contender.ts';
import { type Scenario, scenarioNamed, usual } from './scenarios.ts';

export type Options = {
  readonly scenarios: readonly Scenario[];
  readonly contenders: readonly ContenderName[];
  /** Instead of each scenario's own number. */
  readonly runs?: number;
  readonly json: string;
};

export const usage = `usage: npm run bench -- [scenario…] [--runs N] [--json FILE] [--only floor,kubectl,operator,nodemaintenance,drain]
scenarios: ${usual.join(', ')} (these when none is named), scale`;

const isContender = (name: string): name is ContenderName => contenderNames.some(known => known === name);

const contendersFrom = (only: string): readonly ContenderName[] => {
  const names = only.split(',');
  const unknown = names.find(name => !isContender(name));
  if (unknown !== undefined) throw new Error(`no contender ${unknown}; there are ${contenderNames.join(', ')}`);
  return contenderNames.filter(name => names.includes(name));
};

export const runsFrom = (text: string): number => {
  const runs = Number(text);
  if (!Number.isInteger(runs) || runs < 1) throw new Error(`--runs is ${text}; it has to be a whole number from 1`);
  return runs;
};

/** Undefined when help was asked for. */
export const optionsFrom = (args: readonly string[]): Options | undefined => {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { runs: { type: 'string' }, json: { type: 'string' }, only: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help === true) return undefined;
  return {
    scenarios: (positionals.length === 0 ? usual : positionals).map(scenarioNamed),
    contenders: values.only === undefined ? contenderNames : contendersFrom(values.only),
    ...(values.runs === undefined ? {} : { runs: runsFrom(values.runs) }),
    json: values.json ?? join(import.meta.dirname, '..', 'dist', 'bench.json'),
  };
};
