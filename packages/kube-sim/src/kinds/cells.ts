import type { Json } from '@drydock/apimachinery';
import { at, type Draft, items, objects, part, type Stored, strings, text } from '../object.ts';
import { decode } from './decode.ts';
import {
  ageOf,
  type Column,
  columnsOf,
  humanDuration,
  type Kind,
  type ReadObject,
  resourceOf,
  type Strategy,
} from './kind.ts';

/**
 * Cells of Table responses, upstream in pkg/printers/internalversion/printers.go; those of pods are
 * in pod-cells.ts.
 */
type Cell = Column['cell'];

export const name: Cell = object => object.metadata.name;
export const age: Cell = (object, now) => ageOf(object.metadata.creationTimestamp, now);
function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

function numberAt(object: Stored, ...path: readonly string[]): number {
  return number(at(object, ...path));
}

/** Returns the ready replicas and the wanted ones. */
export const readyReplicas: Cell = object =>
  `${numberAt(object, 'status', 'readyReplicas')}/${numberAt(object, 'spec', 'replicas')}`;

/** Returns the number at a path, 0 when there is none. */
export function count(...path: readonly string[]): Cell {
  return object => number(at(object, ...path));
}

/** Returns the text at a path. */
export function word(...path: readonly string[]): Cell {
  return object => text(object, ...path);
}

/** Returns the number of members in maps and lists. */
export function size(...paths: readonly string[]): Cell {
  return object =>
    paths.reduce(
      (sum, path) => sum + items(at(object, path)).length + Object.keys(part(object, path)).length,
      0,
    );
}

function templateContainers(object: Stored): readonly Json[] {
  return items(at(object, 'spec', 'template', 'spec', 'containers'));
}
export const containers: Cell = object =>
  templateContainers(object)
    .map(one => text(one, 'name'))
    .join(',');
export const images: Cell = object =>
  templateContainers(object)
    .map(one => text(one, 'image'))
    .join(',');

/** Returns metav1.FormatLabelSelector. */
export function shownSelector(object: Stored): string {
  const given = at(object, 'spec', 'selector');
  if (given === undefined) return '<none>';
  const labels = Object.entries(strings(at(given, 'matchLabels'))).map(
    ([key, value]) => `${key}=${value}`,
  );
  const expressions = objects(at(given, 'matchExpressions')).map(one => {
    const [key, operator] = [text(one, 'key'), text(one, 'operator')];
    const values = [...items(one['values'])].map(String).sort().join(',');
    if (operator === 'Exists') return key;
    return operator === 'DoesNotExist'
      ? `!${key}`
      : `${key} ${operator === 'In' ? 'in' : 'notin'} (${values})`;
  });
  const all = [...labels, ...expressions].sort();
  return all.length === 0 ? '<none>' : all.join(',');
}

export const selector: Cell = object => shownSelector(object);

/** Returns labels.FormatLabels. */
function labels(value: Json | undefined): string {
  const all = Object.entries(strings(value)).map(([key, one]) => `${key}=${one}`);
  return all.length === 0 ? '<none>' : all.sort().join(',');
}
export const nodeSelector: Cell = object =>
  labels(at(object, 'spec', 'template', 'spec', 'nodeSelector'));

const rolePrefix = 'node-role.kubernetes.io/';
export const nodeRoles: Cell = object => {
  const roles = Object.entries(object.metadata.labels ?? {}).flatMap(([key, value]) => {
    if (key.startsWith(rolePrefix)) return [key.slice(rolePrefix.length)];
    return key === 'kubernetes.io/role' ? [value] : [];
  });
  const all = [...new Set(roles.filter(role => role !== ''))].sort();
  return all.length === 0 ? '<none>' : all.join(',');
};

export const nodeStatus: Cell = object => {
  const ready = objects(at(object, 'status', 'conditions')).find(({ type }) => type === 'Ready');
  const state = ready === undefined ? 'Unknown' : ready['status'] === 'True' ? 'Ready' : 'NotReady';
  return at(object, 'spec', 'unschedulable') === true ? `${state},SchedulingDisabled` : state;
};

export function nodeAddress(type: string): Cell {
  return object =>
    text(
      objects(at(object, 'status', 'addresses')).find(one => one['type'] === type),
      'address',
    ) || '<none>';
}

export function nodeInfo(field: string): Cell {
  return object => {
    const value = text(object, 'status', 'nodeInfo', field) || '<unknown>';
    const architecture = text(object, 'status', 'nodeInfo', 'architecture');
    return field === 'kernelVersion' && architecture !== '' ? `${value} (${architecture})` : value;
  };
}

/** Returns a budget's minAvailable or maxUnavailable. */
export function budgetBound(field: 'minAvailable' | 'maxUnavailable'): Cell {
  return object => {
    const value = at(object, 'spec', field);
    return typeof value === 'string' || typeof value === 'number' ? String(value) : 'N/A';
  };
}

const jobConditions = [
  ['Complete', 'Complete'],
  ['Failed', 'Failed'],
  [undefined, 'Terminating'],
  ['Suspended', 'Suspended'],
  ['FailureTarget', 'FailureTarget'],
  ['SuccessCriteriaMet', 'SuccessCriteriaMet'],
] as const;

export const jobStatus: Cell = object => {
  const holds = (type: string | undefined): boolean =>
    type === undefined
      ? object.metadata.deletionTimestamp !== undefined
      : objects(at(object, 'status', 'conditions')).some(
          one => one['type'] === type && one['status'] === 'True',
        );
  return jobConditions.find(([type]) => holds(type))?.[1] ?? 'Running';
};

export const jobCompletions: Cell = object => {
  const done = number(at(object, 'status', 'succeeded'));
  const wanted = at(object, 'spec', 'completions');
  if (typeof wanted === 'number') return `${done}/${wanted}`;
  const parallelism = number(at(object, 'spec', 'parallelism'));
  return parallelism > 1 ? `${done}/1 of ${parallelism}` : `${done}/1`;
};

export const jobDuration: Cell = (object, now) => {
  const [start, end] = [
    text(object, 'status', 'startTime'),
    text(object, 'status', 'completionTime'),
  ];
  if (start === '') return '';
  const until = end === '' ? now : Temporal.Instant.from(end);
  return humanDuration(
    (until.epochMilliseconds - Temporal.Instant.from(start).epochMilliseconds) / 1000,
  );
};

/** Returns the controller: `statefulset.apps/db`. */
export const controller: Cell = ({ metadata }) => {
  const found = metadata.ownerReferences?.find(one => one.controller === true);
  if (found === undefined) return '<none>';
  const [group, version] = found.apiVersion.split('/');
  return `${found.kind.toLowerCase()}${version === undefined ? '' : `.${group}`}/${found.name}`;
};

/** Returns access modes in short: RWO, ROX, RWX, RWOP. */
export function accessModes(...path: readonly string[]): Cell {
  return object => {
    const short = {
      ReadWriteOnce: 'RWO',
      ReadOnlyMany: 'ROX',
      ReadWriteMany: 'RWX',
      ReadWriteOncePod: 'RWOP',
    };
    const modes = items(at(object, ...path));
    return Object.entries(short)
      .filter(([mode]) => modes.includes(mode))
      .map(([, word]) => word)
      .join(',');
  };
}

export const volumePhase: Cell = object =>
  object.metadata.deletionTimestamp === undefined ? text(object, 'status', 'phase') : 'Terminating';

/** Returns an optional text: `<unset>` when it is missing. */
export function orUnset(...path: readonly string[]): Cell {
  return object => {
    const value = at(object, ...path);
    return typeof value === 'string' ? value : '<unset>';
  };
}

/** Returns a cell of a claim that is empty until it is bound. */
export function whenBound(cell: Cell): Cell {
  return (object, now) => (text(object, 'spec', 'volumeName') === '' ? '' : cell(object, now));
}

export const claimOf: Cell = object =>
  at(object, 'spec', 'claimRef') === undefined
    ? ''
    : `${text(object, 'spec', 'claimRef', 'namespace')}/${text(object, 'spec', 'claimRef', 'name')}`;

/** Description of a built-in kind; the rest is derived. */
export type KindEntry = {
  readonly kind: string;
  readonly plural: string;
  readonly strategy: Strategy;
  readonly cells: readonly Column['cell'][];
  /** Name of the Go type; group and kind when left out. */
  readonly struct?: string;
} & Partial<
  Pick<
    Kind,
    'shortNames' | 'categories' | 'status' | 'scale' | 'selectable' | 'answersDeletionWithObject'
  >
> & {
    readonly scope?: 'Cluster';
  };

function read(struct: string) {
  return (draft: Draft): ReadObject => {
    const { apiVersion: _apiVersion, kind: _kind, ...rest } = draft;
    const decoded = decode(rest, struct);
    return decoded.kind === 'decoded'
      ? { kind: 'read', object: decoded.object, unknown: decoded.unknown }
      : decoded;
  };
}

/** Returns a kind that every API server has. */
export function builtIn(group: string, version: string, goGroup: string) {
  return (entry: KindEntry): Kind => {
    const struct = `${goGroup}.${entry.kind}`;
    const resource = resourceOf(group, entry.plural);
    return {
      group,
      version,
      kind: entry.kind,
      listKind: `${entry.kind}List`,
      plural: entry.plural,
      singular: entry.kind.toLowerCase(),
      shortNames: entry.shortNames ?? [],
      categories: entry.categories ?? [],
      namespaced: entry.scope !== 'Cluster',
      resource,
      status: entry.status ?? false,
      ...(entry.scale === undefined ? {} : { scale: entry.scale }),
      selectable: entry.selectable ?? [],
      columns: columnsOf(resource, ...entry.cells),
      answersDeletionWithObject: entry.answersDeletionWithObject ?? false,
      read: read(struct),
      strategy: entry.strategy,
      shape: { kind: 'go', struct },
    };
  };
}
