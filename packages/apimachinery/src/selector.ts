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
