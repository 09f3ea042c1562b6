import { isObject, own } from './json.ts';

/** metav1.LabelSelector. An empty one matches everything, a missing one nothing. */
export type LabelSelector = {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly Requirement[];
};

type Requirement = {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values?: readonly string[];
};

/** Labels of one object. */
export type Labels = Readonly<Record<string, string>>;

function meets(labels: Labels, { key, operator, values = [] }: Requirement): boolean {
  const value = own(labels, key);
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      // An operator of a later Kubernetes: no match would lift a protection, so it counts as a
      // match.
      return operator satisfies never;
  }
}

/** Reports whether the selector matches, by the rules of apimachinery's labels package. */
export function matches(selector: LabelSelector | undefined, labels: Labels): boolean {
  if (selector === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  for (const key of Object.keys(matchLabels))
    if (own(labels, key) !== matchLabels[key]) return false;
  return matchExpressions.every(requirement => meets(labels, requirement));
}

/**
 * Reads a selector from JSON; undefined for null or a missing one. The API server has validated it.
 */
export function readSelector(raw: unknown): LabelSelector | undefined {
  return isObject(raw) ? raw : undefined;
}

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
