import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import type { HttpResponse } from '@drydock/utils';
import { failureOf, jsonOf, type NovaResult } from './failure.ts';

/** Base URL of Nova, and the minor numbers of its microversions; undefined where it has none. */
export type FoundVersion = {
  readonly base: string;
  readonly most: number | undefined;
  readonly least: number | undefined;
};

type Ask = (url: string) => Promise<NovaResult<HttpResponse>>;

/**
 * Parts of an endpoint as catalogs have it: `PREFIX`, `PREFIX/v2.1`, `PREFIX/v2.1/PROJECT`, and the
 * same with the legacy `v2`.
 */
type Parts = { readonly prefix: string; readonly version?: string; readonly project: string };

function partsOf(endpoint: string): Parts {
  const [, prefix, version, project = ''] =
    /^(.*?)\/(v\d+(?:\.\d+)?)((?:\/.*)?)$/.exec(endpoint) ?? [];
  return prefix === undefined || version === undefined
    ? { prefix: endpoint, project: '' }
    : { prefix, version, project };
}

function minorOf(text: unknown): number | undefined {
  const minor = typeof text === 'string' ? /^2\.(\d+)$/.exec(text)?.[1] : undefined;
  return minor === undefined ? undefined : Number(minor);
}

function minorsOf(version: JsonObject): Omit<FoundVersion, 'base'> {
  return {
    most: minorOf(version['version']),
    least: minorOf(version['min_version']),
  };
}

function bodyOf({ text }: HttpResponse): JsonObject {
  const body = jsonOf(text);
  return isObject(body) ? body : {};
}

function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Order of preference by the status of a version; others (EXPERIMENTAL) come last. */
const ranks: readonly unknown[] = ['CURRENT', 'SUPPORTED', 'DEPRECATED'];
function rankOf({ status }: JsonObject): number {
  return ranks.includes(status) ? ranks.indexOf(status) : ranks.length;
}

/**
 * Returns the name of the version in the URL: the end of the link to itself, else its id. The rest
 * of a link is ignored: behind a proxy Nova does not know its own host and path, and the token goes
 * only to the host of the catalog.
 */
function segmentOf(version: JsonObject): string | undefined {
  const self = objectsIn(version['links']).find(({ rel }) => rel === 'self')?.['href'];
  const linked = typeof self === 'string' ? /\/(v\d+(?:\.\d+)?)\/*$/.exec(self)?.[1] : undefined;
  if (linked !== undefined) return linked;
  return typeof version['id'] === 'string' && /^v\d+(?:\.\d+)?$/.test(version['id'])
    ? version['id']
    : undefined;
}

/** Returns the version with microversions that has the best status. */
function chosenOf(
  body: JsonObject,
): { readonly segment: string; readonly version: JsonObject } | undefined {
  return objectsIn(body['versions'] ?? body['choices'])
    .flatMap(version => {
      const segment = segmentOf(version);
      return segment === undefined || minorsOf(version).most === undefined
        ? []
        : [{ segment, version }];
    })
    .sort((one, other) => rankOf(one.version) - rankOf(other.version))[0];
}

/** Returns whether a response contains versions; a list of them has status 300 in some releases. */
function isTold({ status }: HttpResponse): boolean {
  return status === 200 || status === 300;
}

/**
 * Returns the version of the URL itself, where it has microversions. Below a project's own URL,
 * Nova does not list any.
 */
async function ofVersion(
  { prefix, version, project }: Parts,
  ask: Ask,
): Promise<NovaResult<FoundVersion | undefined>> {
  const base = `${prefix}/${version ?? ''}`;
  const sent = await ask(`${base}/`);
  if (sent.failure !== undefined) return sent;
  const { status } = sent.value;
  if (status === 404 || status === 400 || status === 300) return { value: undefined };
  if (status !== 200) return { failure: failureOf(sent.value) };
  const body = bodyOf(sent.value);
  const minors = minorsOf(isObject(body['version']) ? body['version'] : {});
  return {
    value: minors.most === undefined ? undefined : { base: `${base}${project}`, ...minors },
  };
}

/**
 * Finds the version of Nova that has microversions, as keystoneauth does: at the URL in the catalog
 * where that names one, else in the list of versions above it, else at `v2.1`, which every Nova
 * with microversions has. A failure, or the lack of microversions, is that of the first of these.
 */
export async function discover(endpoint: string, ask: Ask): Promise<NovaResult<FoundVersion>> {
  const parts = partsOf(endpoint);
  if (parts.version !== undefined) {
    const named = await ofVersion(parts, ask);
    if (named.failure !== undefined) return named;
    if (named.value !== undefined) return { value: named.value };
  }
  const listed = await ask(`${parts.prefix}/`);
  if (listed.failure !== undefined) return listed;
  const body = isTold(listed.value) ? bodyOf(listed.value) : {};
  const chosen = chosenOf(body);
  if (chosen !== undefined)
    return {
      value: {
        base: `${parts.prefix}/${chosen.segment}${parts.project}`,
        ...minorsOf(chosen.version),
      },
    };
  // Some endpoints are one version at a URL that does not name it.
  const single = minorsOf(isObject(body['version']) ? body['version'] : {});
  if (single.most !== undefined) return { value: { base: endpoint, ...single } };
  if (parts.version !== 'v2.1') {
    const usual = await ofVersion({ ...parts, version: 'v2.1' }, ask);
    if (usual.failure !== undefined) return usual;
    if (usual.value !== undefined) return { value: usual.value };
  }
  return isTold(listed.value)
    ? { value: { base: endpoint, most: undefined, least: undefined } }
    : { failure: failureOf(listed.value) };
}
