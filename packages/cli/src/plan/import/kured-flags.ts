import type { JsonObject } from '@drydock/apimachinery';
import { items, text } from '@drydock/kube-sim';
import { objectsIn } from './imported.ts';

/**
 * Configuration of kured: flags of its command line, and variables KURED_* for those that are
 * absent.
 */
export type KuredFlags = {
  readonly names: readonly string[];
  /** Returns the last value of a flag, as kured does; undefined where it is not given. */
  one(name: string): string | undefined;
  /** Returns all values of a repeatable flag, in their order. */
  all(name: string): readonly string[];
  /** Variables whose values are not in the DaemonSet. */
  readonly hidden: readonly string[];
};

/** Parses `--name=value` and `--name value`; a flag without a value is true. */
function onCommandLine(words: readonly string[]): readonly (readonly [string, string])[] {
  return words.flatMap((word, index) => {
    const [, name, inline] = /^--([a-z-]+)(?:=(.*))?$/s.exec(word) ?? [];
    if (name === undefined) return [];
    const next = words[index + 1] ?? '';
    return [[name, inline ?? (next === '' || next.startsWith('-') ? 'true' : next)] as const];
  });
}

const prefix = 'KURED_';

function inEnvironment(container: JsonObject): readonly JsonObject[] {
  return objectsIn(container['env']).filter(variable => text(variable, 'name').startsWith(prefix));
}

function flagOf(variable: JsonObject): string {
  return text(variable, 'name').slice(prefix.length).toLowerCase().replaceAll('_', '-');
}

/** Reads the containers of kured. An empty variable counts as unset, as in kured. */
export function kuredFlags(containers: readonly JsonObject[]): KuredFlags {
  const words = containers
    .flatMap(({ command, args }) => [...items(command), ...items(args)])
    .filter(word => typeof word === 'string');
  const given = onCommandLine(words);
  const typed = new Set(given.map(([name]) => name));
  const variables = containers
    .flatMap(inEnvironment)
    .filter(variable => !typed.has(flagOf(variable)));
  const set = variables.flatMap(variable =>
    text(variable, 'value') === '' ? [] : [[flagOf(variable), text(variable, 'value')] as const],
  );
  const all = [...given, ...set];
  return {
    names: [...new Set(all.map(([name]) => name))],
    one: name => all.findLast(([other]) => other === name)?.[1],
    all: name => all.flatMap(([other, value]) => (other === name ? [value] : [])),
    hidden: [
      ...new Set(
        variables
          .filter(variable => variable['valueFrom'] !== undefined)
          .map(variable => text(variable, 'name')),
      ),
    ],
  };
}
