import { type Normal, normal, normalText } from '../normal.ts';
import type { Place } from './place.ts';
import type { ObjectHistory, RecordedResource } from './recorder.ts';
import { conditionsOf, isTrue, type Thing } from './thing.ts';

/**
 * What one side has to say of a scenario, without what differs from run to run; it has to be the
 * same on both sides. Courses: by resource and name the states of each object, one after the other,
 * without repeats. Final: what is there in the end. Objects of generated names stand together.
 */
export type Account = Readonly<Record<'notes' | 'courses' | 'final' | 'events', Normal>>;

/** What of an account is not compared, and why is said where it is used. */
export type Leaving = {
  readonly courses?: readonly RecordedResource[];
  readonly final?: readonly RecordedResource[];
  /** Notes, by what they are about. */
  readonly notes?: readonly string[];
  /** Reasons of events. */
  readonly events?: readonly string[] | 'all';
  /** On which of the scenario's nodes pods are: compared only where it is given as true. */
  readonly nodes?: true;
};

/** What either leaves out. */
export function leavingBoth(one: Leaving, other: Leaving): Leaving {
  return {
    courses: [...(one.courses ?? []), ...(other.courses ?? [])],
    final: [...(one.final ?? []), ...(other.final ?? [])],
    notes: [...(one.notes ?? []), ...(other.notes ?? [])],
    events:
      one.events === 'all' || other.events === 'all'
        ? 'all'
        : [...(one.events ?? []), ...(other.events ?? [])],
    ...((one.nodes ?? other.nodes) && { nodes: true }),
  };
}

const letters = '[bcdfghjklmnpqrstvwxz2456789]';

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

/** On replica sets, and on revisions of stateful and of daemon sets. */
const hashLabels = [
  'pod-template-hash',
  'controller.kubernetes.io/hash',
  'controller-revision-hash',
];

/**
 * Takes generated parts out of names: hashes of templates by the order of their coming, five
 * letters behind generateName, nodes.
 */
function namer(place: Place, leaving: Leaving): (text: string) => string {
  const courses = [...place.scope.courses.values()];
  const hashesOf = (what: RecordedResource): readonly string[] => [
    ...new Set(
      courses
        .filter(one => one.what === what)
        .flatMap(({ states }) =>
          hashLabels.flatMap(label => states[0]?.metadata.labels?.[label] ?? []),
        ),
    ),
  ];
  const hashes = [
    ...hashesOf('replicasets').map((hash, index) => [hash, `<hash ${index + 1}>`] as const),
    ...hashesOf('revisions').map((hash, index) => [hash, `<revision ${index + 1}>`] as const),
  ];
  const generated = new Set(
    courses.flatMap(({ states }) => states[0]?.metadata.generateName ?? []),
  );
  const known = hashes.map(
    ([hash, name]) => [new RegExp(`\\b${escaped(hash)}\\b`, 'g'), name] as const,
  );
  const bases = [...generated].map(
    base => [new RegExp(`${escaped(base)}${letters}{5}\\b`, 'g'), `${base}*`] as const,
  );
  const own = [...bases, ...known];
  const node = new RegExp(`\\bn\\d+-${escaped(place.id)}\\b`, 'g');
  return text => {
    const named = own.reduce((so, [pattern, name]) => so.replaceAll(pattern, name), text);
    return withoutOthers(leaving.nodes === true ? named : named.replaceAll(node, '<node>'));
  };
}

/** Reasons that nodes of other scenarios have as well: how many of them there are is chance. */
const common = [
  'node(s) had untolerated taint(s)',
  'Preemption is not helpful for scheduling',
  "node(s) didn't satisfy plugin(s) [NodeAffinity]",
];

/** What the scheduler says of all nodes, without counting those of other scenarios. */
function withoutOthers(message: string): string {
  return message.replaceAll(/0\/\d+ nodes are available: ([^.]*)\./g, (_all, reasons: string) => {
    const own = reasons
      .split(', ')
      // Whether nodes of others are cordoned is chance.
      .filter(reason => !reason.endsWith('node(s) were unschedulable'))
      .map(reason =>
        common.includes(reason.replace(/^\d+ /, '')) ? reason.replace(/^\d+/, '<n>') : reason,
      );
    return `0/<n> nodes are available: ${own.toSorted().join(', ')}.`;
  });
}

function renamed(value: Normal, name: (text: string) => string): Normal {
  if (typeof value === 'string') return name(value);
  if (Array.isArray(value)) return value.map((one: Normal) => renamed(one, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [name(key), renamed(one, name)]),
  );
}

/** Lists that are sets: their order says nothing. */
const unordered = new Set(['conditions', 'taints', 'ownerReferences']);

function inOrder(value: Normal, key = ''): Normal {
  if (Array.isArray(value)) {
    const list = value.map((one: Normal) => inOrder(one));
    return unordered.has(key)
      ? list.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
      : list;
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inOrder(one, key)]));
}

function shortConditions(thing: Thing, ...types: readonly string[]): readonly string[] {
  return conditionsOf(thing)
    .filter(({ type }) => types.includes(type))
    .map(({ type, status, reason = '' }) => `${type}=${status} ${reason}`.trim())
    .sort();
}

const finalizersWord = 'finalizers';

/**
 * What of an object's states is compared one by one: what controllers decide, not how their writes
 * happened to fall together.
 */
const views: Readonly<Partial<Record<RecordedResource, readonly ((thing: Thing) => unknown)[]>>> = {
  pods: [
    thing =>
      [
        String(thing.status?.['phase']),
        isTrue(thing, 'PodScheduled') ? 'placed' : '',
        isTrue(thing, 'Ready') ? 'ready' : '',
        ...shortConditions(thing, 'DisruptionTarget'),
        thing.metadata.deletionTimestamp === undefined ? '' : 'going',
      ]
        .filter(word => word !== '')
        .join(' '),
    ({ metadata }) =>
      `owned by ${(metadata.ownerReferences ?? []).map(({ kind, name }) => `${kind} ${name}`).join()}`,
    ({ metadata }) => `${finalizersWord} ${(metadata.finalizers ?? []).join()}`,
  ],
  deployments: [
    // Whether each step of progress is told by itself depends on how writes of the status meet.
    thing =>
      shortConditions(thing, 'Progressing').find(text => !text.endsWith('ReplicaSetUpdated')),
    thing => shortConditions(thing, 'ReplicaFailure').join(),
    ({ metadata }) => `revision ${metadata.annotations?.['deployment.kubernetes.io/revision']}`,
  ],
  replicasets: [({ spec }) => `wants ${String(spec?.['replicas'])}`],
  statefulsets: [
    ({ status }) =>
      `${String(status?.['currentRevision'])} to ${String(status?.['updateRevision'])}`,
  ],
  jobs: [
    thing =>
      shortConditions(
        thing,
        'Suspended',
        'SuccessCriteriaMet',
        'FailureTarget',
        'Complete',
        'Failed',
      ).join(),
  ],
  namespaces: [thing => String(thing.status?.['phase'])],
};

/** Without what is the same as just before. */
function changes(values: readonly unknown[]): readonly string[] {
  const texts = values.flatMap(value =>
    value === undefined ? [] : typeof value === 'string' ? value : JSON.stringify(value),
  );
  return texts.filter((text, index) => index === 0 || text !== texts[index - 1]);
}

/**
 * Whoever is gone has no finalizer left, and whether the kubelet or the owner of the last one came
 * first is chance.
 */
function withoutLastStep(steps: readonly string[]): readonly string[] {
  return steps.length > 1 && steps.at(-1) === `${finalizersWord} ` ? steps.slice(0, -1) : steps;
}

function courseOf({ what, states, gone }: ObjectHistory): readonly string[] {
  return (views[what] ?? []).map(view => {
    const steps = changes(states.map(view));
    return (gone ? [...withoutLastStep(steps), 'gone'] : steps).join(' > ');
  });
}

type Grouped = Record<string, Record<string, Normal[]>>;

function into(groups: Grouped, what: string, name: string, value: Normal): void {
  const named = (groups[what] ??= {});
  const list = (named[name] ??= []);
  list.push(value);
}

function sorted(groups: Grouped): Normal {
  return Object.fromEntries(
    Object.entries(groups)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([what, named]) => [
        what,
        Object.fromEntries(
          Object.entries(named)
            .sort(([one], [other]) => (one < other ? -1 : 1))
            .map(([name, list]) => [
              name,
              list.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)),
            ]),
        ),
      ]),
  );
}

/** What every namespace has in a real cluster, and nobody asked for. */
function isFurniture(what: RecordedResource, { metadata }: Thing): boolean {
  return what === 'configmaps' && metadata.name === 'kube-root-ca.crt';
}

/** What the event says of its object; how often, and by which instance, is not compared. */
function eventText(event: Thing): string {
  const about = event['involvedObject'] as { readonly kind?: string; readonly name?: string };
  const source = event['source'] as { readonly component?: string } | undefined;
  const by = source?.component ?? event['reportingComponent'];
  return `${about.kind} ${about.name}: ${String(event['type'])} ${String(event['reason'])}: ${String(event['message'])} (${String(by)})`;
}

/** The scheduler had taken up a pod that was deleted then. */
function isLate(event: Thing): boolean {
  return String(event['message']).startsWith('skip schedule deleting pod');
}

function cleaned(value: unknown, name: (text: string) => string): Normal {
  return inOrder(renamed(normal(value), name));
}

function eventsOf(place: Place, leaving: Leaving, name: (text: string) => string): Normal {
  if (leaving.events === 'all') return [];
  const left = leaving.events ?? [];
  const told = place
    .all('events')
    .filter(event => !left.includes(String(event['reason'])) && !isLate(event));
  return [...new Set(told.map(event => name(normalText(eventText(event)))))].sort();
}

/**
 * Of a node what controllers make of it: kwok and the embedded kubelets describe their machines
 * each in their own way.
 */
function bare(what: RecordedResource, thing: Thing): Thing {
  if (what !== 'nodes') return thing;
  const { 'node.alpha.kubernetes.io/ttl': _ttl, ...annotations } = thing.metadata.annotations ?? {};
  const conditions = conditionsOf(thing).filter(({ type }) => type !== 'NetworkUnavailable');
  return { ...thing, metadata: { ...thing.metadata, annotations }, status: { conditions } };
}

/** The account of a scenario so far. */
export function accountOf(place: Place, leaving: Leaving): Account {
  const name = namer(place, leaving);
  const courses: Grouped = {};
  const final: Grouped = {};
  for (const course of place.scope.courses.values()) {
    const { what, states, gone } = course;
    const last = states.at(-1);
    if (what === 'events' || last === undefined || isFurniture(what, last)) continue;
    const called = name(last.metadata.name);
    if (views[what] !== undefined && leaving.courses?.includes(what) !== true)
      into(courses, what, called, cleaned(courseOf(course), name));
    if (!gone && leaving.final?.includes(what) !== true)
      into(final, what, called, cleaned(bare(what, last), name));
  }
  return {
    notes: cleaned(
      place.notes.filter(([what]) => leaving.notes?.includes(what) !== true),
      name,
    ),
    courses: sorted(courses),
    final: sorted(final),
    events: eventsOf(place, leaving, name),
  };
}
