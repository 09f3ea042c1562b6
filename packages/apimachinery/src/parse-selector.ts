import type { LabelSelector } from './selector.ts';

type Requirement = NonNullable<LabelSelector['matchExpressions']>[number];

const name = '[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?';
const key = `(?<key>([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?/)?${name})`;
const value = `(${name})?`;

const exists = new RegExp(`^(?<not>!)?\\s*${key}$`);
const equals = new RegExp(`^${key}\\s*(?<operator>==?|!=)\\s*(?<value>${value})$`);
const oneOf = new RegExp(`^${key}\\s+(?<operator>in|notin)\\s*\\((?<values>[^()]*)\\)$`);

function requirement(text: string): Requirement | undefined {
  const set = oneOf.exec(text)?.groups;
  if (set !== undefined) {
    const values = (set['values'] ?? '').split(',').map(one => one.trim());
    const valid = values.every(one => new RegExp(`^${value}$`).test(one));
    return valid
      ? { key: set['key'] ?? '', operator: set['operator'] === 'in' ? 'In' : 'NotIn', values }
      : undefined;
  }
  const equal = equals.exec(text)?.groups;
  if (equal !== undefined) {
    return {
      key: equal['key'] ?? '',
      operator: equal['operator'] === '!=' ? 'NotIn' : 'In',
      values: [equal['value'] ?? ''],
    };
  }
  const bare = exists.exec(text)?.groups;
  return (
    bare && {
      key: bare['key'] ?? '',
      operator: bare['not'] === undefined ? 'Exists' : 'DoesNotExist',
    }
  );
}

/** Splits at commas between requirements, except within parentheses. */
function parts(text: string): readonly string[] {
  return (text.match(/(\([^)]*\)|[^,])+/g) ?? []).map(part => part.trim());
}

/**
 * Parses a label selector as kubectl does on the command line (`a=b,c!=d,e in (f,g),!h`); undefined
 * if it is none. The operators `<` and `>`, which only node affinity has, are none.
 */
export function parseSelector(text: string): LabelSelector | undefined {
  if (text.trim() === '') return {};
  if (/^\s*,|,\s*(,|$)/.test(text)) return undefined;
  const requirements = parts(text).map(requirement);
  const found = requirements.filter(one => one !== undefined);
  return found.length === requirements.length && found.length > 0
    ? { matchExpressions: found }
    : undefined;
}
