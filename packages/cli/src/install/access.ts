import {
  joinLimited,
  pathSegment,
  reviewCall,
  reviewed,
  statusMessage,
} from '@drydock/apimachinery';
import { type Api, listAll } from '@drydock/kube-client';
import { type Rule, rightsOf } from '../diagnose/covers.ts';
import { plainOutput } from '../shared/output.ts';
import { type Located, Locator, lineOf, type Manifest } from './install-locate.ts';
import { inventoryKinds, type StoredObject } from './inventory.ts';
import { helmMarks, Remover, releaseOfHelm } from './others.ts';

/**
 * Checks the user's rights before an installation, so that none starts that cannot be completed.
 */

/** Attributes of an access review; `*` stands for all. */
export type AccessQuestion = {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
};

/** Limit of concurrent reviews. */
const atOnce = 16;

/** Limit of object names in a line. */
const maxNames = 3;

/** Maps with limited concurrency, and keeps the order. */
async function mapSome<From, To>(
  all: readonly From[],
  work: (one: From) => Promise<To>,
): Promise<readonly To[]> {
  const results: To[] = [];
  for (let at = 0; at < all.length; at += atOnce)
    results.push(...(await Promise.all(all.slice(at, at + atOnce).map(work))));
  return results;
}

/** Runs each access review once; a text as result is the reason why none is available. */
class Asking {
  readonly #api: Api;
  readonly #known = new Map<string, Promise<boolean | string>>();

  constructor(api: Api) {
    this.#api = api;
  }

  may(question: AccessQuestion): Promise<boolean | string> {
    const key = JSON.stringify(question);
    const known = this.#known.get(key) ?? this.#ask(question);
    this.#known.set(key, known);
    return known;
  }

  async #ask(resourceAttributes: AccessQuestion): Promise<boolean | string> {
    const status = reviewed(
      await this.#api.call(reviewCall('SelfSubjectAccessReview', { resourceAttributes })),
    );
    return typeof status === 'string' ? status : status['allowed'] === true;
  }
}

function isRole({ kind }: Manifest): boolean {
  return kind === 'ClusterRole' || kind === 'Role';
}

/** Returns the rights that a user needs to grant a role without `escalate`. */
function heldBy(role: Manifest): readonly AccessQuestion[] {
  const { namespace } = role.metadata;
  return ((role['rules'] as readonly Rule[] | undefined) ?? [])
    .flatMap(rightsOf)
    .map(right => ({ ...right, ...(namespace !== undefined && { namespace }) }));
}

/** Returns the right to do something with an object. */
function questionOf(
  { metadata: { namespace = 'default', name } }: Manifest,
  { group, resource, isNamespaced }: Located,
  verb: string,
): AccessQuestion {
  return { verb, group, resource, ...(isNamespaced && { namespace }), name };
}

/** Returns the rights for creating a missing object: one of these sets is sufficient. */
function toMake(
  manifest: Manifest,
  question: AccessQuestion,
  all: readonly Manifest[],
): readonly (readonly AccessQuestion[])[] {
  const rbac = 'rbac.authorization.k8s.io';
  if (isRole(manifest)) return [[{ ...question, verb: 'escalate' }], heldBy(manifest)];
  const { roleRef } = manifest as {
    readonly roleRef?: { readonly kind: string; readonly name: string };
  };
  if (roleRef === undefined) return [[]];
  const role = all.find(
    one => isRole(one) && one.kind === roleRef.kind && one.metadata.name === roleRef.name,
  );
  const { namespace } = question;
  const bind = {
    verb: 'bind',
    group: rbac,
    resource: `${roleRef.kind.toLowerCase()}s`,
    name: roleRef.name,
    ...(namespace !== undefined && { namespace }),
  };
  const held =
    role === undefined
      ? []
      : heldBy(role).map(one => ({ ...one, ...(namespace !== undefined && { namespace }) }));
  return role === undefined ? [[bind]] : [[bind], held];
}

type KindAccess = Pick<Manifest, 'apiVersion' | 'kind'> & { readonly verbs: readonly string[] };

/** Returns the rights that the inventory of an installation needs. */
export function accessToInventory(): readonly KindAccess[] {
  return inventoryKinds().map(one => ({ ...one, verbs: ['list'] }));
}

/** Changes that are planned. */
export type Undertaking = {
  readonly applied?: readonly Manifest[];
  readonly deleted?: readonly Manifest[];
  /** Access to all objects of a kind, where the cluster has it. */
  readonly kinds?: readonly KindAccess[];
  readonly besides?: readonly AccessQuestion[];
};

/** Determines which rights are missing for the planned changes. */
class AccessCheck {
  readonly #api: Api;
  readonly #locator: Locator;
  readonly #asking: Asking;
  readonly #denied = new Map<
    string,
    { readonly verbs: Set<string>; readonly names: Set<string> }
  >();
  unknown: string | undefined;

  constructor(api: Api) {
    this.#api = api;
    this.#locator = new Locator(api);
    this.#asking = new Asking(api);
  }

  /** Returns a line for each kind and namespace with denied rights. */
  async denied({
    applied = [],
    deleted = [],
    kinds = [],
    besides = [],
  }: Undertaking): Promise<readonly string[]> {
    if (await this.#may({ verb: '*', group: '*', resource: '*' })) return [];
    await mapSome(kinds, one => this.#mayOfKind(one));
    await mapSome(applied, one => this.#mayApply(one, applied));
    await mapSome(deleted, one => this.#mayDo(one, 'delete'));
    await mapSome(besides, one => this.#require(one));
    return [...this.#denied]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([kind, { verbs, names }]) => {
        const right = `${[...verbs].toSorted().join(', ')} ${kind}`;
        return names.size === 0
          ? right
          : `${right}: ${joinLimited([...names].toSorted(), maxNames)}`;
      });
  }

  async #may(question: AccessQuestion): Promise<boolean> {
    const answer = await this.#asking.may(question);
    if (typeof answer !== 'string') return answer;
    this.unknown ??= answer;
    return true;
  }

  async #mayAll(questions: readonly AccessQuestion[]): Promise<boolean> {
    return (await mapSome(questions, one => this.#may(one))).every(Boolean);
  }

  async #require(question: AccessQuestion): Promise<void> {
    if (await this.#may(question)) return;
    const { verb, group, resource, namespace, name } = question;
    const kind = `${resource}${group === '' ? '' : `.${group}`}${namespace === undefined ? '' : ` in ${namespace}`}`;
    const { verbs, names } = this.#denied.get(kind) ?? { verbs: new Set(), names: new Set() };
    this.#denied.set(kind, {
      verbs: verbs.add(verb),
      names: name === undefined ? names : names.add(name),
    });
  }

  async #mayOfKind({ apiVersion, kind, verbs }: KindAccess): Promise<void> {
    const located = await this.#locator.find({ apiVersion, kind, metadata: { name: '' } });
    if (located.kind === 'unknown') return;
    for (const verb of verbs)
      await this.#require({ verb, group: located.group, resource: located.resource });
  }

  async #mayDo(manifest: Manifest, verb: string): Promise<void> {
    const located = await this.#locator.find(manifest);
    if (located.kind === 'known') await this.#require(questionOf(manifest, located, verb));
  }

  /**
   * A missing object has to be created, and a role that is created or bound must not grant more
   * than its creator has.
   */
  async #mayApply(manifest: Manifest, all: readonly Manifest[]): Promise<void> {
    const located = await this.#locator.find(manifest);
    if (located.kind === 'unknown') return;
    const question = questionOf(manifest, located, 'patch');
    await this.#require({ ...question, verb: 'get' });
    await this.#require(question);
    const { status } = await this.#api.call({ method: 'GET', path: located.path });
    if (status === 200) return;
    await this.#require({ ...question, verb: 'create' });
    const ways = toMake(manifest, question, all);
    for (const way of ways) if (await this.#mayAll(way)) return;
    const [first] = ways[0] ?? [];
    if (first !== undefined) await this.#require(first);
  }
}

/**
 * Throws an error that names all missing rights for the planned changes. An unknown result is
 * printed, and is no obstacle.
 */
export async function requireAccess(api: Api, undertaking: Undertaking): Promise<void> {
  const check = new AccessCheck(api);
  const denied = await check.denied(undertaking);
  if (check.unknown !== undefined)
    plainOutput.note(
      `drydock: the check of your rights failed, going on without it: ${check.unknown}`,
    );
  if (denied.length === 0) return;
  for (const right of denied) plainOutput.note(`missing: ${right}`);
  throw new Error(
    'your user lacks the rights above, and drydock has changed nothing: run the command with the rights of cluster-admin',
  );
}

/** Takes over an installation from a Helm release, which is then forgotten. */

/** A Helm release, in the namespace of its installation. */
type Release = { readonly release: string; readonly namespace: string };

/** Kinds in which Helm stores its releases, unless it is configured to use a database. */
const records = [
  { kind: 'Secret', plural: 'secrets' },
  { kind: 'ConfigMap', plural: 'configmaps' },
] as const;

/** Returns the rights for deleting Helm's records of a release. */
export function accessToTake(namespace: string): readonly AccessQuestion[] {
  return records.flatMap(({ plural }) =>
    ['list', 'delete'].map(verb => ({ verb, group: '', resource: plural, namespace })),
  );
}

/**
 * Returns Helm's records of a release: with them, helm uninstall deletes all objects of the
 * release, even those taken over.
 */
async function recordsOf(
  api: Api,
  { release, namespace }: Release,
): Promise<readonly StoredObject[]> {
  const lists = await Promise.all(
    records.map(async ({ kind, plural }) => {
      const path = `/api/v1/namespaces/${pathSegment(namespace)}/${plural}`;
      const items = await listAll(
        api,
        path,
        { labelSelector: `owner=helm,name=${release}` },
        'empty',
      );
      return (items as readonly StoredObject[]).map(item => ({ ...item, apiVersion: 'v1', kind }));
    }),
  );
  return lists
    .flat()
    .filter(({ metadata }) => metadata.name.startsWith(`sh.helm.release.v1.${release}.v`));
}

/**
 * Removes the annotations by which Helm recognizes an object as its own. Returns whether that
 * failed.
 */
async function unmark(
  api: Api,
  object: Manifest,
  path: string,
  { release, namespace }: Release,
): Promise<boolean> {
  const found = await api.call({ method: 'GET', path });
  const { metadata } = found.body as StoredObject;
  if (found.status !== 200 || releaseOfHelm({ ...object, metadata }, namespace) !== release)
    return false;
  const isManaged = metadata.labels?.['app.kubernetes.io/managed-by'] === 'Helm';
  const answer = await api.call({
    method: 'PATCH',
    path,
    contentType: 'application/merge-patch+json',
    body: {
      metadata: {
        uid: metadata.uid,
        annotations: {
          [helmMarks.release]: null,
          [helmMarks.namespace]: null,
          'helm.sh/resource-policy': null,
        },
        ...(isManaged && { labels: { 'app.kubernetes.io/managed-by': null } }),
      },
    },
  });
  if (answer.status === 200 || answer.status === 404) return false;
  plainOutput.line(lineOf(object, 'FAILED', { why: statusMessage(answer) }));
  return true;
}

/**
 * Deletes Helm's records first: an interrupted takeover can be repeated as long as an object
 * carries Helm's annotations.
 */
export async function takeFromHelm(
  api: Api,
  release: Release,
  objects: readonly Manifest[],
  dryRun: boolean,
): Promise<void> {
  const found = await recordsOf(api, release);
  if (found.length === 0)
    plainOutput.note(
      `drydock: nothing in namespace ${release.namespace} remembers release ${release.release} of Helm; where Helm keeps it in a database, take it out of there: helm uninstall would remove this installation`,
    );
  if ((await new Remover(api, { dryRun, removed: 'deleted' }).removeAll(found)) > 0)
    throw new Error(
      `Helm still knows its release; kubectl -n ${release.namespace} delete secrets,configmaps -l owner=helm,name=${release.release} makes it forget it, then do this again`,
    );
  if (dryRun) return;
  const locator = new Locator(api);
  let failed = 0;
  for (const object of objects) {
    const located = await locator.find(object);
    if (located.kind === 'known' && (await unmark(api, object, located.path, release))) failed += 1;
  }
  if (failed > 0)
    throw new Error(
      `${failed} objects still carry the marks of Helm; see above, then do this again`,
    );
  plainOutput.line(
    `release ${release.release} of Helm is taken over: drydock install and drydock uninstall are for it from now on`,
  );
}
