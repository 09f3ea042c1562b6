import { fitsSelector, isObject, type JsonObject } from '@drydock/apimachinery';
import { isFinished, nodeOf } from '../controllers/controller.ts';
import { pickedPods } from '../controllers/selectors.ts';
import { at, items, objects, part, type Stored, text } from '../object.ts';
import type { Store } from '../store/store.ts';
import {
  askedBy,
  domain,
  type NodeInfo,
  namespacesOf,
  placeOf,
  type ResourceRequests,
  termPicks,
  terms,
  toleratesAll,
} from './node-info.ts';

/** Constraints of a pod on its node, computed once, because they are read for every node. */
type PodConstraints = {
  readonly asked: ResourceRequests;
  /** Names of the only possible nodes, where all terms name one: no others are checked. */
  readonly named: ReadonlySet<string> | undefined;
  readonly toleratesCordon: boolean;
  /** Whether it requires labels of the node. */
  readonly isChoosy: boolean;
  readonly preferred: readonly JsonObject[];
  readonly together: readonly JsonObject[];
  readonly apart: readonly JsonObject[];
  /** Topology spread constraints that must hold. */
  readonly spreads: readonly JsonObject[];
};

const cordonTaint: Stored = {
  metadata: { name: 'cordoned', uid: '', resourceVersion: '', creationTimestamp: '' },
  spec: { taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] },
};

function requiredOf(spec: JsonObject): JsonObject[string] {
  return at(spec, 'affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution');
}

/** Returns the named nodes in the affinity that DaemonSets give to their pods. */
function namedBy(spec: JsonObject): ReadonlySet<string> | undefined {
  const all = objects(at(requiredOf(spec), 'nodeSelectorTerms'));
  const fields = all.map(term =>
    objects(term['matchFields']).find(field => text(field, 'key') === 'metadata.name'),
  );
  if (all.length === 0 || fields.includes(undefined)) return undefined;
  return new Set(fields.flatMap(field => items(field?.['values']).map(String)));
}

function constraintsOf(spec: JsonObject, asked: ResourceRequests): PodConstraints {
  return {
    asked,
    named: namedBy(spec),
    toleratesCordon: toleratesAll(spec, cordonTaint, ['NoSchedule']),
    isChoosy: spec['nodeSelector'] !== undefined || requiredOf(spec) !== undefined,
    preferred: objects(
      at(spec, 'affinity', 'nodeAffinity', 'preferredDuringSchedulingIgnoredDuringExecution'),
    ),
    together: terms(spec, 'podAffinity'),
    apart: terms(spec, 'podAntiAffinity'),
    spreads: objects(spec['topologySpreadConstraints']).filter(
      one => text(one, 'whenUnsatisfiable') === 'DoNotSchedule',
    ),
  };
}

/** Number of pods that a spread constraint counts, by domain, and the minimum. */
type Spread = { readonly counts: ReadonlyMap<string, number>; readonly least: number };

/**
 * Returns the node selectors of the volumes to which a pod's claims are bound: a node must match
 * all of them (VolumeBinding).
 */
function volumesOf(store: Store, pod: Stored): readonly JsonObject[] {
  return objects(at(pod, 'spec', 'volumes')).flatMap(one => {
    const claim = store.get(
      'persistentvolumeclaims',
      pod.metadata.namespace ?? '',
      text(one, 'persistentVolumeClaim', 'claimName'),
    );
    const volume = claim && store.get('persistentvolumes', '', text(claim, 'spec', 'volumeName'));
    const required = at(volume, 'spec', 'nodeAffinity', 'required');
    return isObject(required) ? [required] : [];
  });
}

/** Returns the number of pods with the same owner, by node. */
function siblingsOf(store: Store, pod: Stored): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const owner = pod.metadata.ownerReferences?.[0]?.uid;
  for (const other of owner === undefined ? [] : store.indexed('pods', 'owner', owner)) {
    const node = nodeOf(other);
    if (node !== '' && !isFinished(other) && other.metadata.ownerReferences?.[0]?.uid === owner)
      counts.set(node, (counts.get(node) ?? 0) + 1);
  }
  return counts;
}

function byZone(
  { all }: Nodes,
  siblings: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const zones = new Map<string, number>();
  for (const [name, count] of siblings) {
    const zone = all.get(name)?.zone;
    if (zone !== undefined) zones.set(zone, (zones.get(zone) ?? 0) + count);
  }
  return zones;
}

/** All nodes, and those with pods that have anti-affinity. */
export type Nodes = {
  readonly all: ReadonlyMap<string, NodeInfo>;
  readonly guarded: ReadonlyMap<string, NodeInfo>;
};

/**
 * Facts about all nodes for the placement of one pod, computed once: otherwise every node would be
 * compared with every other.
 */
export class SchedulingCycle {
  readonly pod: Stored;
  readonly spec: JsonObject;
  readonly constraints: PodConstraints;
  readonly volumes: readonly JsonObject[];
  readonly siblings: ReadonlyMap<string, number>;
  readonly zones: ReadonlyMap<string, number>;
  /** Domains, by topology key, that are excluded by the anti-affinity of existing pods. */
  readonly keepers: readonly (readonly [key: string, domains: ReadonlySet<string>])[];
  readonly #store: Store;
  readonly #nodes: Nodes;
  readonly #company = new Map<
    JsonObject,
    { readonly domains: ReadonlySet<string | undefined>; readonly isNobody: boolean }
  >();
  readonly #spreads = new Map<JsonObject, Spread>();

  constructor(store: Store, pod: Stored, nodes: Nodes) {
    this.#store = store;
    this.#nodes = nodes;
    this.pod = pod;
    this.spec = part(pod, 'spec');
    this.constraints = constraintsOf(this.spec, askedBy(pod));
    this.volumes = volumesOf(store, pod);
    this.siblings = siblingsOf(store, pod);
    this.zones = byZone(nodes, this.siblings);
    this.keepers = [...this.#keepersOf()];
  }

  /** Returns whether this domain has a pod that the term selects. */
  isIn(term: JsonObject, where: string | undefined): boolean {
    return where !== undefined && this.#companyOf(term).domains.has(where);
  }

  /** Returns whether no pod matches the term. */
  isNobody(term: JsonObject): boolean {
    return this.#companyOf(term).isNobody;
  }

  spread(constraint: JsonObject): Spread {
    const known = this.#spreads.get(constraint);
    if (known !== undefined) return known;
    const made = this.#spreadOf(constraint);
    this.#spreads.set(constraint, made);
    return made;
  }

  #placed(selector: JsonObject[string], namespace: string): readonly Stored[] {
    return pickedPods(this.#store, selector, namespace).filter(
      pod => nodeOf(pod) !== '' && !isFinished(pod),
    );
  }

  #companyOf(term: JsonObject) {
    const known = this.#company.get(term);
    if (known !== undefined) return known;
    const key = text(term, 'topologyKey');
    const namespaces = namespacesOf(term, this.pod.metadata.namespace ?? '');
    const pods = namespaces.flatMap(namespace => this.#placed(term['labelSelector'], namespace));
    const domains = new Set(pods.map(pod => domain(this.#nodes.all.get(nodeOf(pod))?.node, key)));
    const made = { domains, isNobody: pods.length === 0 };
    this.#company.set(term, made);
    return made;
  }

  #keepersOf(): ReadonlyMap<string, ReadonlySet<string>> {
    const found = new Map<string, Set<string>>();
    for (const { node, guarded } of this.#nodes.guarded.values()) {
      for (const keeper of guarded) {
        for (const term of terms(part(keeper, 'spec'), 'podAntiAffinity')) {
          const key = text(term, 'topologyKey');
          const where = domain(node, key);
          if (where === undefined || !termPicks(term, keeper.metadata.namespace ?? '', this.pod))
            continue;
          found.set(key, (found.get(key) ?? new Set()).add(where));
        }
      }
    }
    return found;
  }

  #spreadOf(constraint: JsonObject): Spread {
    const key = text(constraint, 'topologyKey');
    const counts = new Map<string, number>();
    for (const { node } of this.#nodes.all.values()) {
      const where = domain(node, key);
      if (where !== undefined && fitsSelector(this.spec, placeOf(node))) counts.set(where, 0);
    }
    for (const pod of this.#placed(
      constraint['labelSelector'],
      this.pod.metadata.namespace ?? '',
    )) {
      const node = this.#nodes.all.get(nodeOf(pod))?.node;
      const where = domain(node, key);
      if (node === undefined || where === undefined || pod.metadata.deletionTimestamp !== undefined)
        continue;
      if (fitsSelector(this.spec, placeOf(node))) counts.set(where, (counts.get(where) ?? 0) + 1);
    }
    return {
      counts,
      least: counts.size < Number(constraint['minDomains'] ?? 1) ? 0 : Math.min(...counts.values()),
    };
  }
}
