import { UsageError } from '@drydock/utils';
import type { Command, Option } from 'commander';

/**
 * Shell completion: small scripts for the shells, which call `drydock __complete` for the possible
 * next words.
 */

const bash = `# bash completion of drydock: source <(drydock completion bash)
_drydock() {
  local IFS=$'\\n'
  COMPREPLY=($(drydock __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _drydock drydock
`;

const zsh = `#compdef drydock
# zsh completion of drydock: source <(drydock completion zsh)
_drydock() {
  local -a found
  found=("\${(@f)$(drydock __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -- $found
}
compdef _drydock drydock
`;

const fish = `# fish completion of drydock: drydock completion fish | source
complete -c drydock -f -a '(drydock __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`;

const scripts: Readonly<Record<string, string>> = { bash, zsh, fish };

/** Shells that have a script. */
export const shells: readonly string[] = Object.keys(scripts);

/** Returns the script for one shell. Throws a UsageError for other shells. */
export function completionScript(shell: string): string {
  const script = scripts[shell];
  if (script === undefined)
    throw new UsageError(`no completion for "${shell}"; available: ${shells.join(', ')}`);
  return script;
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

function optionNamed(command: Command, word: string): Option | undefined {
  return command.options.find(({ long, short }) => word === long || word === short);
}

/** Returns the words that are neither flags nor their values. */
function positionals(command: Command, words: readonly string[]): readonly string[] {
  return words.filter((word, at) => {
    if (word.startsWith('-')) return false;
    const flag = optionNamed(command, words[at - 1] ?? '');
    return flag === undefined || !takesValue(flag);
  });
}

function flagsOf(command: Command): readonly string[] {
  return command.options.flatMap(({ long, hidden }) =>
    hidden || long === undefined || long === null ? [] : [long],
  );
}

/** Returns whether an argument of a command stands for a node, by its name in the usage. */
function isNode(name: string): boolean {
  return name === 'node' || name === 'pod-or-node';
}

/**
 * Returns the command that the words lead to, and the words after its name; the last word is the
 * start of another.
 */
function commandAt(
  root: Command,
  words: readonly string[],
): { readonly command: Command; readonly rest: readonly string[] } {
  const next = words.length > 1 ? root.commands.find(one => one.name() === words[0]) : undefined;
  return next === undefined ? { command: root, rest: words } : commandAt(next, words.slice(1));
}

/**
 * Returns the possible next words, sorted; the last word given is the start of the next one. Calls
 * `nodes` only where the name of a node may stand.
 */
export async function complete(
  root: Command,
  words: readonly string[],
  nodes: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const last = words.at(-1) ?? '';
  const fits = (all: readonly string[]): readonly string[] =>
    all.filter(one => one.startsWith(last)).toSorted();
  const { command, rest } = commandAt(root, words);
  const before = rest.slice(0, -1);
  const option = optionNamed(command, before.at(-1) ?? '');
  if (option !== undefined && takesValue(option)) return fits(option.argChoices ?? []);
  if (last.startsWith('-')) return fits(flagsOf(command));
  if (command.commands.length > 0)
    return before.length > 0 ? [] : fits(command.commands.map(one => one.name()));
  const place = positionals(command, before).length;
  const argument =
    command.registeredArguments[place] ??
    command.registeredArguments.findLast(({ variadic }) => variadic);
  if (argument === undefined) return [];
  return fits(isNode(argument.name()) ? await nodes() : (argument.argChoices ?? []));
}
