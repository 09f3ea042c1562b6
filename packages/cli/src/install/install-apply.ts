import { isObject, type JsonObject, sameJson, statusMessage } from '@drydock/apimachinery';
import type { Api, ApiResponse } from '@drydock/kube-client';
import type { Clock } from '@drydock/utils';
import { keyOf, type Located, Locator, type Manifest } from './install-locate.ts';
import { installationLabel, partLabel, type StoredObject, sharedNamespaces } from './inventory.ts';
import { Remover } from './others.ts';
import { isPart } from './rollout.ts';

/**
 * Returns the API server's warnings from the header `Warning` of a response, as kubectl prints
 * them: `299 - "TEXT"`, comma-separated (RFC 7234 section 5.5; client-go: net.ParseWarningHeaders).
 * Ignores text of another shape.
 */
export function apiWarnings(header: string | undefined): readonly string[] {
  return [...(header ?? '').matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) =>
    text.replaceAll(/\\(.)/g, '$1'),
  );
}

/** Result for one object. */
export type Applied =
  | { readonly result: 'applied' | 'unchanged'; readonly warnings?: readonly string[] }
  /** The object is kept as it is, which is no failure. */
  | { readonly result: 'left alone'; readonly why: string }
  | { readonly result: 'failed'; readonly why: string };

type Options = {
  readonly api: Api;
  readonly clock: Clock;
  readonly forceConflicts: boolean;
  readonly dryRun: boolean;
};

type Status = {
  readonly message?: string;
  readonly details?: {
    readonly causes?: readonly {
      readonly reason?: string;
      readonly message?: string;
      readonly field?: string;
    }[];
  };
};

/** A stored object, with the fields that matter here. */
type Stored = {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly scope?: string };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
};

const fieldManager = 'drydock';

/** Seconds until a new kind must be served. */
const patience = 30;

function conflictText({ details }: Status): string {
  const causes = (details?.causes ?? []).filter(({ reason }) => reason === 'FieldManagerConflict');
  const texts = causes.map(({ field = '', message = '' }) => `${field} (${message})`);
  return `other field managers have set ${texts.join(', ')}; run the command with --force-conflicts to take these fields over`;
}

function missingNamespace(response: ApiResponse): string | undefined {
  return response.status === 404
    ? /^namespaces "([^"]+)" not found$/.exec(statusMessage(response))?.[1]
    : undefined;
}

function refusalOf(response: ApiResponse): string {
  const { status, body } = response;
  const apiStatus: Status = typeof body === 'object' && body !== null ? body : {};
  if (status === 409 && apiStatus.details?.causes !== undefined) return conflictText(apiStatus);
  const { message = `the API server responded with ${status}` } = apiStatus;
  const ending = apiStatus.details?.causes?.find(({ reason }) => reason === 'NamespaceTerminating');
  if (ending !== undefined) {
    const namespace = /namespace (\S+) because/.exec(message)?.[1] ?? 'NAMESPACE';
    return `the API server is deleting namespace ${namespace}: run kubectl wait --for=delete namespace/${namespace}, then run the command again`;
  }
  const missing = missingNamespace(response);
  return missing === undefined
    ? message
    : `${message}; run kubectl create namespace ${missing}, or install the part that contains it`;
}

/**
 * Returns why a CRD cannot be applied: its scope is immutable, because existing objects would lose
 * their place.
 */
function scopeHere(manifest: Manifest, before: Stored | undefined): string | undefined {
  const here = before?.spec?.scope;
  if (manifest.kind !== 'CustomResourceDefinition' || here === undefined) return undefined;
  const { scope } = manifest['spec'] as { readonly scope: string };
  return here === scope
    ? undefined
    : `its scope in this cluster is ${here}, and no API server changes that to ${scope}; drydock uses it as it is`;
}

const enforced = 'pod-security.kubernetes.io/enforce';

/**
 * Returns why a namespace of another owner is left alone: its owner decides which pods it admits.
 */
function namespaceHere(manifest: Manifest, before: Stored | undefined): Applied | undefined {
  const here = before?.metadata;
  if (manifest.kind !== 'Namespace' || here === undefined) return undefined;
  const { name, labels = {} } = manifest.metadata;
  if (Object.entries(labels).every(([key, value]) => here.labels?.[key] === value))
    return { result: 'unchanged' };
  if (here.labels?.[installationLabel] === labels[installationLabel]) return undefined;
  const level = here.labels?.[enforced];
  const help =
    labels[enforced] === 'privileged' && level !== undefined && level !== 'privileged'
      ? `, but these refuse the pods of drydock (${enforced}=${level}): run kubectl label namespace ${name} --overwrite ${enforced}=privileged`
      : '';
  return { result: 'left alone', why: `drydock has not created it, and keeps its labels${help}` };
}

/**
 * Returns whether two versions of an object are the same except for the fields that the API server
 * sets on every write, even on one without changes.
 */
function isSame(before: unknown, after: unknown): boolean {
  if (!isObject(before) || !isObject(after)) return false;
  const [one, other] = [before, after].map(({ metadata, ...rest }): JsonObject => {
    const {
      managedFields: _noted,
      resourceVersion: _changed,
      ...own
    } = isObject(metadata) ? metadata : {};
    return { ...rest, metadata: own };
  });
  return sameJson(one, other);
}

/** Applies objects to a cluster by server-side apply, one after the other. */
export class Applier {
  readonly #options: Options;
  readonly #locator: Locator;

  constructor(options: Options) {
    this.#options = options;
    this.#locator = new Locator(options.api);
  }

  /**
   * Applies an object and returns the result. Rejects only when the API server cannot be reached.
   */
  async apply(manifest: Manifest): Promise<Applied> {
    const located = await this.#locator.find(manifest);
    if (located.kind === 'unknown') {
      if (manifest.kind.startsWith('ValidatingAdmissionPolicy'))
        return {
          result: 'left alone',
          why: `${located.why}; the webhook of drydock checks in its place`,
        };
      return { result: 'failed', why: located.why };
    }
    const before = await this.#read(located);
    const scope = scopeHere(manifest, before);
    if (scope !== undefined) return { result: 'left alone', why: scope };
    const kept = namespaceHere(manifest, before);
    if (kept !== undefined) return kept;
    const response = await this.#options.api.call({
      method: 'PATCH',
      path: located.path,
      query: {
        fieldManager,
        force: this.#options.forceConflicts,
        dryRun: this.#options.dryRun ? 'All' : undefined,
      },
      contentType: 'application/apply-patch+yaml',
      body: manifest,
    });
    // In a dry run, the object's namespace may not exist yet.
    if (this.#options.dryRun && missingNamespace(response) !== undefined)
      return { result: 'applied' };
    if (response.status !== 200 && response.status !== 201)
      return { result: 'failed', why: refusalOf(response) };
    const warnings = apiWarnings(response.headers['warning']);
    return {
      result: isSame(before, response.body) ? 'unchanged' : 'applied',
      ...(warnings.length > 0 && { warnings }),
    };
  }

  /** Waits until a new kind is served; before that, none of its objects can be created. */
  async established(crd: Manifest): Promise<Applied> {
    const { clock, dryRun } = this.#options;
    if (dryRun) return { result: 'applied' };
    const located = await this.#locator.find(crd);
    if (located.kind === 'unknown') return { result: 'failed', why: located.why };
    const end = clock.now().add({ seconds: patience });
    while (Temporal.Instant.compare(clock.now(), end) < 0) {
      const stored = await this.#read(located);
      const conditions = stored?.status?.conditions ?? [];
      if (conditions.some(({ type, status }) => type === 'Established' && status === 'True'))
        return { result: 'applied' };
      await clock.sleep(100);
    }
    return {
      result: 'failed',
      why: `the API server does not serve it after ${patience} s; look at its conditions with kubectl describe crd ${crd.metadata.name}, then run the command again`,
    };
  }

  async #read({ path }: Located): Promise<Stored | undefined> {
    const { status, body } = await this.#options.api.call({ method: 'GET', path });
    return status === 200 ? (body as Stored) : undefined;
  }
}

/** Removes objects of an installation that its parts no longer include. */

/**
 * Returns the objects of the installation that are not among the applied ones. Objects of no part
 * were applied by the user's choice, and stay.
 */
export function leftOver(
  here: readonly StoredObject[],
  applied: readonly Manifest[],
): readonly StoredObject[] {
  const keys = new Set(applied.map(keyOf));
  const shared = sharedNamespaces();
  return here.filter(
    object =>
      !keys.has(keyOf(object)) &&
      isPart(object.metadata.labels?.[partLabel]) &&
      !(object.kind === 'Namespace' && shared.includes(object.metadata.name)),
  );
}

/** Returns whether an object blocks every create when its server is missing. */
function isFailClosed({ kind }: Manifest): boolean {
  return kind === 'ValidatingWebhookConfiguration';
}

/** Removes left-over objects in the reverse order of installation, and prints a line for each. */
export class Pruning {
  readonly #remover: Remover;
  readonly #over: readonly StoredObject[];

  constructor(
    api: Api,
    { over, dryRun }: { readonly over: readonly StoredObject[]; readonly dryRun: boolean },
  ) {
    this.#remover = new Remover(api, { dryRun, removed: 'pruned' });
    this.#over = over.toReversed();
  }

  /**
   * Removes fail-closed objects. Call before anything is applied: the applied objects may stop
   * serving the webhook.
   */
  failClosed(): Promise<void> {
    return this.#removeAll(this.#over.filter(isFailClosed));
  }

  /** Removes the other objects. Call after everything is applied. */
  rest(): Promise<void> {
    return this.#removeAll(this.#over.filter(object => !isFailClosed(object)));
  }

  async #removeAll(all: readonly StoredObject[]): Promise<void> {
    const failed = await this.#remover.removeAll(all);
    if (failed > 0)
      throw new Error(`${failed} of ${all.length} objects could not be pruned; see above`);
  }
}
