import type { JsonObject } from '@drydock/apimachinery';
import { sameJson } from '@drydock/apimachinery';
import { type Cause, required, wrong } from '../failure.ts';
import { type Draft, objects, part, type Stored, text } from '../object.ts';
import * as cell from './cells.ts';
import { builtIn, type KindEntry } from './cells.ts';
import type { Kind, Strategy } from './kind.ts';

/** Upstream: pkg/registry/rbac and pkg/apis/rbac/validation. */

const rbac = 'rbac.authorization.k8s.io';
const { age, name } = cell;

/** Checks only for a path segment: roles have names like `system:discovery`. */
function nameProblem(given: string): string | undefined {
  if (given === '.' || given === '..') return `may not be '${given}'`;
  const bad = ['/', '%'].find(sign => given.includes(sign));
  return bad === undefined ? undefined : `may not contain '${bad}'`;
}

function ruleCauses(draft: Draft): readonly Cause[] {
  return objects(draft['rules']).flatMap((rule, index): readonly Cause[] => {
    const verbs = rule['verbs'];
    return Array.isArray(verbs) && verbs.length > 0 ? [] : [required(`rules[${index}].verbs`)];
  });
}

const roles: Strategy = { generation: 'none', nameProblem, validate: ruleCauses };

function withGroups(draft: Draft): Draft {
  const subjects = objects(draft['subjects']).map(
    (subject): JsonObject =>
      subject['kind'] === 'ServiceAccount' || text(subject, 'apiGroup') !== ''
        ? subject
        : { ...subject, apiGroup: rbac },
  );
  const roleRef = part(draft, 'roleRef');
  const whole = text(roleRef, 'apiGroup') === '' ? { ...roleRef, apiGroup: rbac } : roleRef;
  return { ...draft, ...(draft['subjects'] !== undefined && { subjects }), roleRef: whole };
}

/** Returns the internal type in messages, which has no JSON names. */
function asInGo(roleRef: JsonObject): JsonObject {
  return {
    APIGroup: text(roleRef, 'apiGroup'),
    Kind: text(roleRef, 'kind'),
    Name: text(roleRef, 'name'),
  };
}

const roleBindings: Strategy = {
  generation: 'none',
  nameProblem,
  defaults: withGroups,
  validateUpdate: (draft, before) =>
    sameJson(part(draft, 'roleRef'), part(before, 'roleRef'))
      ? []
      : [wrong('roleRef', asInGo(part(draft, 'roleRef')), 'field is immutable')],
};

function subjectsOf(kind: string) {
  return (binding: Stored): string =>
    objects(binding['subjects'])
      .filter(subject => subject['kind'] === kind)
      .map(subject =>
        kind === 'ServiceAccount'
          ? `${text(subject, 'namespace')}/${text(subject, 'name')}`
          : text(subject, 'name'),
      )
      .join(', ');
}

function roleCell(binding: Stored): string {
  return `${text(binding, 'roleRef', 'kind')}/${text(binding, 'roleRef', 'name')}`;
}
function createdAt({ metadata }: Stored): string {
  return metadata.creationTimestamp;
}
const bindingCells = [
  name,
  roleCell,
  age,
  subjectsOf('User'),
  subjectsOf('Group'),
  subjectsOf('ServiceAccount'),
];
const shown = { answersDeletionWithObject: false } as const;

/** Kinds of RBAC. */
export const roleKinds: readonly Kind[] = (
  [
    {
      kind: 'ClusterRole',
      plural: 'clusterroles',
      scope: 'Cluster',
      ...shown,
      strategy: roles,
      cells: [name, createdAt],
    },
    {
      kind: 'ClusterRoleBinding',
      plural: 'clusterrolebindings',
      scope: 'Cluster',
      ...shown,
      strategy: roleBindings,
      cells: bindingCells,
    },
    { kind: 'Role', plural: 'roles', ...shown, strategy: roles, cells: [name, createdAt] },
    {
      kind: 'RoleBinding',
      plural: 'rolebindings',
      ...shown,
      strategy: roleBindings,
      cells: bindingCells,
    },
  ] satisfies readonly KindEntry[]
).map(builtIn(rbac, 'v1', 'rbac'));
