import { isObject } from '@drydock/apimachinery';

/**
 * Returns whether the wanted fields are present; defaults that the API server added are no
 * difference. Lists must have the same length and order.
 */
export function covers(have: unknown, want: unknown): boolean {
  if (Array.isArray(want))
    return (
      Array.isArray(have) &&
      have.length === want.length &&
      want.every((item, at) => covers(have[at], item))
    );
  if (isObject(want))
    return (
      isObject(have) &&
      Object.entries(want).every(([key, value]) => value === undefined || covers(have[key], value))
    );
  return have === want;
}

/** A rule of a Role or ClusterRole. */
export type Rule = {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
};

function has(list: readonly string[] | undefined, one: string): boolean {
  return list?.some(item => item === one || item === '*') === true;
}

function allows(rule: Rule, { verb, group, resource, name }: Right): boolean {
  return (
    has(rule.verbs, verb) &&
    has(rule.apiGroups, group) &&
    has(rule.resources, resource) &&
    (rule.resourceNames === undefined || (name !== undefined && rule.resourceNames.includes(name)))
  );
}

type Right = {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly name?: string;
};

/** Returns each single right that a rule grants. */
export function rightsOf({
  apiGroups = [],
  resources = [],
  resourceNames,
  verbs,
}: Rule): readonly Right[] {
  return verbs.flatMap(verb =>
    apiGroups.flatMap(group =>
      resources.flatMap(resource =>
        resourceNames === undefined
          ? [{ verb, group, resource }]
          : resourceNames.map(name => ({ verb, group, resource, name })),
      ),
    ),
  );
}

/**
 * Returns the rights of `want` that `have` does not grant, as `patch nodes` or `patch
 * machines.cluster.x-k8s.io`.
 */
export function missingRights(have: readonly Rule[], want: readonly Rule[]): readonly string[] {
  return want
    .flatMap(rightsOf)
    .filter(right => !have.some(rule => allows(rule, right)))
    .map(({ verb, group, resource }) => `${verb} ${resource}${group === '' ? '' : `.${group}`}`);
}
