import { stringify } from 'yaml';
import { Choice } from './variants.ts';

/** Templates of Helm from objects. */

/** A text that a template takes the place of: one line, or a whole field. */
export class Template {
  readonly text: string;

  /**
   * For example `{{ .Values.replicas }}`. One that begins with `{{-` makes lines of its own,
   * indented by what stands for INDENT.
   */
  constructor(text: string) {
    this.text = text;
  }
}

const yamlStyle = { lineWidth: 0, aliasDuplicateObjects: false, blockQuote: 'literal' } as const;

/** What is a template to Helm in a text of ours is none. */
function escaped(text: string): string {
  return text.replaceAll(/\{\{|\}\}/g, braces => `{{ "${braces}" }}`);
}

function mark(at: number): string {
  return `@@${at}@@`;
}

/** Replaces what cannot be written as YAML by marks. */
function marked(value: unknown, found: (Choice | Template)[]): unknown {
  if (value instanceof Choice || value instanceof Template) {
    found.push(value);
    return mark(found.length - 1);
  }
  if (Array.isArray(value)) return value.map(item => marked(item, found));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, marked(item, found)]));
}

function indented(text: string, indent: string): string {
  return text
    .trimEnd()
    .split('\n')
    .map(line => (line === '' ? line : indent + line))
    .join('\n');
}

function chosen(
  { alternatives }: Choice,
  { indent, key, base }: { readonly indent: string; readonly key: string; readonly base: number },
): string {
  const lines = alternatives.flatMap(({ condition, value }, at) => {
    const head =
      at === 0
        ? `{{- if ${condition ?? 'true'} }}`
        : condition === undefined
          ? '{{- else }}'
          : `{{- else if ${condition} }}`;
    const isLast = condition === undefined && value === undefined;
    return isLast
      ? []
      : [
          head,
          ...(value === undefined
            ? []
            : [indented(templateOf({ [key]: value }, base + indent.length), indent)]),
        ];
  });
  return [...lines, '{{- end }}'].join('\n');
}

function replaced(line: string, found: readonly (Choice | Template)[], base: number): string {
  const [, indent = '', key = '', at = ''] =
    /^( *(?:- )?)([^ :]+): "?@@(\d+)@@"?$/.exec(line) ?? [];
  const one = at === '' ? undefined : found[Number(at)];
  if (one instanceof Choice) return chosen(one, { indent: indent.replaceAll('-', ' '), key, base });
  const [, itemIndent = '', item = ''] = /^( *)- "?@@(\d+)@@"?$/.exec(line) ?? [];
  const element = item === '' ? undefined : found[Number(item)];
  if (element instanceof Template) {
    const text = element.text.replaceAll('INDENT', String(base + itemIndent.length));
    return text.startsWith('{{-') ? text : `${itemIndent}- ${text}`;
  }
  return line.replaceAll(/"?@@(\d+)@@"?/g, (_whole, number: string) => {
    const here = found[Number(number)];
    if (here instanceof Template)
      return here.text.replaceAll('INDENT', String(base + indent.length + 2));
    throw new Error(`a choice cannot stand here: ${line}`);
  });
}

/** The object as YAML with templates in it, which will stand `base` spaces further in. */
export function templateOf(object: unknown, base = 0): string {
  const found: (Choice | Template)[] = [];
  const text = escaped(stringify(marked(object, found), yamlStyle));
  return `${text
    .trimEnd()
    .split('\n')
    .map(line => (line.includes('@@') ? replaced(line, found, base) : line))
    .join('\n')}\n`;
}
