import { isObject, type JsonObject, sameJson } from '../../core/json.ts';
import type { Api, ApiResponse } from '../../operator/ports.ts';
import type { Clock } from '../../support/clock.ts';
import { apiWarnings } from './api-warnings.ts';
import type { Manifest } from './install-files.ts';
import { type Located, Locator } from './install-locate.ts';

/** What became of one object. */
export type Applied =
  | { readonly result: 'applied' | 'unchanged'; readonly warnings?: readonly string[] }
  /** Kept as it is, which is no failure. */
  | { readonly result: 'left alone'; readonly why: string }
  | { readonly result: 'failed'; readonly why: string };

type Options = { readonly api: Api; readonly clock: Clock; readonly forceConflicts: boolean };

type Status = {
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[] };
};

/** An object as it is stored, as far as it matters here. */
type Stored = {
  readonly spec?: { readonly scope?: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
};

const fieldManager = 'drydock';

/** How long a new kind may take until it is served, in seconds. */
const patience = 30;

const conflictText = ({ details }: Status): string => {
  const causes = (details?.causes ?? []).filter(({ reason }) => reason === 'FieldManagerConflict');
  const texts = causes.map(({ field = '', message = '' }) => `${field} (${message})`);
  return `others have set ${texts.join(', ')}; --force-conflicts takes these fields over`;
};

const refusalOf = ({ status, body }: ApiResponse): string => {
  const said: Status = typeof body === 'object' && body !== null ? body : {};
  if (status === 409 && said.details?.causes !== undefined) return conflictText(said);
  const { message = `the API server responded with ${status}` } = said;
  const [, missing] = status === 404 ? (/^namespaces "([^"]+)" not found$/.exec(message) ?? []) : [];
  return missing === undefined ? message : `${message}; the part rbac brings it, or kubectl create namespace ${missing}`;
};

/** A CRD cannot be moved to another scope: objects of the other one would have nowhere to be. */
const scopeHere = (manifest: Manifest, before: Stored | undefined): string | undefined => {
  const here = before?.spec?.scope;
  if (manifest.kind !== 'CustomResourceDefinition' || here === undefined) return undefined;
  const { scope } = manifest['spec'] as { readonly scope: string };
  return here === scope ? undefined : `it is ${here} in this cluster and cannot become ${scope}; it is served as it is`;
};

/** The same but for what the API server notes of every write: it does so even of one that has nothing to say. */
const isSame = (before: unknown, after: unknown): boolean => {
  if (!isObject(before) || !isObject(after)) return false;
  const [one, other] = [before, after].map(({ metadata, ...rest }): JsonObject => {
    const { managedFields: _noted, resourceVersion: _changed, ...own } = isObject(metadata) ? metadata : {};
    return { ...rest, metadata: own };
  });
  return sameJson(one, other);
};

/** Applies objects to a cluster by server-side apply, one after the other. */
export class Applier {
  readonly #options: Options;
  readonly #locator: Locator;

  constructor(options: Options) {
    this.#options = options;
    this.#locator = new Locator(options.api);
  }

  /** Name of the object as kubectl prints it, and what became of it. Rejects only when the API server cannot be reached. */
  async apply(manifest: Manifest): Promise<Applied> {
    const located = await this.#locator.find(manifest);
    if (located.kind === 'unknown') {
      if (manifest.kind.startsWith('ValidatingAdmissionPolicy'))
        return { result: 'left alone', why: `${located.why}; the webhook asks in its place` };
      return { result: 'failed', why: located.why };
    }
    const before = await this.#read(located);
    const scope = scopeHere(manifest, before);
    if (scope !== undefined) return { result: 'left alone', why: scope };
    const answer = await this.#options.api.call({
      method: 'PATCH',
      path: located.path,
      query: { fieldManager, force: this.#options.forceConflicts },
      contentType: 'application/apply-patch+yaml',
      body: manifest,
    });
    if (answer.status !== 200 && answer.status !== 201) return { result: 'failed', why: refusalOf(answer) };
    const warnings = apiWarnings(answer.headers['warning']);
    return { result: isSame(before, answer.body) ? 'unchanged' : 'applied', ...(warnings.length > 0 && { warnings }) };
  }

  /** Waits until a new kind is served; without that none of its objects can be made. */
  async established(crd: Manifest): Promise<Applied> {
    const { clock } = this.#options;
    const located = await this.#locator.find(crd);
    if (located.kind === 'unknown') return { result: 'failed', why: located.why };
    const end = clock.now().add({ seconds: patience });
    while (Temporal.Instant.compare(clock.now(), end) < 0) {
      const stored = await this.#read(located);
      const conditions = stored?.status?.conditions ?? [];
      if (conditions.some(({ type, status }) => type === 'Established' && status === 'True')) return { result: 'applied' };
      await clock.sleep(100);
    }
    return { result: 'failed', why: `it is not served after ${patience} s` };
  }

  async #read({ path }: Located): Promise<Stored | undefined> {
    const { status, body } = await this.#options.api.call({ method: 'GET', path });
    return status === 200 ? (body as Stored) : undefined;
  }
}
