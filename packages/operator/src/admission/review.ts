import { isObject, type JsonObject, statusMessage } from '@drydock/apimachinery';
import type { Api } from '@drydock/kube-client';
import { errorText, isDefect } from '@drydock/utils';

/**
 * AdmissionReview, in the form that the API server sends and expects (admission.k8s.io/v1 and
 * v1beta1: the same fields).
 */

/** The request of a review. */
export type Review = {
  /** API version, which the response must have as well. */
  readonly apiVersion: string;
  readonly uid: string;
  readonly operation: string;
  readonly kind: string;
  /** Version of the resource in the request. */
  readonly version: string;
  readonly namespace: string;
  /** User that sends the request, as the API server knows them. */
  readonly user: JsonObject;
  readonly subresource: string;
  readonly dryRun: boolean;
  /** New object; missing for DELETE. */
  readonly object?: JsonObject;
  /** Old object; missing for CREATE. */
  readonly oldObject?: JsonObject;
};

/** Verdict on a request. */
export type AdmissionVerdict =
  | { readonly kind: 'allowed'; readonly warnings?: readonly string[] }
  | { readonly kind: 'denied'; readonly message: string };

export const allowed: AdmissionVerdict = { kind: 'allowed' };
export function denied(message: string): AdmissionVerdict {
  return { kind: 'denied', message };
}

const versions = ['admission.k8s.io/v1', 'admission.k8s.io/v1beta1'];

function parse(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Reads a review; returns a string with the error if the body is invalid. */
export function readReview(body: string): Review | string {
  const review = parse(body);
  if (!isObject(review)) return 'the body is not a JSON object';
  const { apiVersion, kind, request } = review;
  if (kind !== 'AdmissionReview')
    return `the body is of kind ${JSON.stringify(kind) ?? 'undefined'}, not AdmissionReview`;
  if (typeof apiVersion !== 'string' || !versions.includes(apiVersion)) {
    return `the AdmissionReview is of version ${JSON.stringify(apiVersion) ?? 'undefined'}; supported are ${versions.join(' and ')}`;
  }
  if (!isObject(request)) return 'the AdmissionReview has no request';
  const { uid, operation, object, oldObject } = request;
  if (typeof uid !== 'string' || uid === '') return 'the request has no uid';
  if (typeof operation !== 'string') return 'the request has no operation';
  if (operation === 'CREATE' && !isObject(object))
    return 'the request is a CREATE without an object';
  if (operation === 'UPDATE' && !(isObject(object) && isObject(oldObject)))
    return 'the request is an UPDATE without object or oldObject';
  return {
    apiVersion,
    uid,
    operation,
    kind: isObject(request['kind']) ? textOf(request['kind']['kind']) : '',
    version: isObject(request['resource']) ? textOf(request['resource']['version']) : '',
    namespace: textOf(request['namespace']),
    user: isObject(request['userInfo']) ? request['userInfo'] : {},
    subresource: textOf(request['subResource']),
    dryRun: request['dryRun'] === true,
    ...(isObject(object) && { object }),
    ...(isObject(oldObject) && { oldObject }),
  };
}

/** Returns the response, with the code and reason that controller-runtime gives to a denial. */
export function responseTo({ apiVersion, uid }: Review, verdict: AdmissionVerdict): JsonObject {
  return {
    apiVersion,
    kind: 'AdmissionReview',
    response:
      verdict.kind === 'allowed'
        ? { uid, allowed: true, ...(verdict.warnings && { warnings: verdict.warnings }) }
        : {
            uid,
            allowed: false,
            status: { code: 403, reason: 'Forbidden', message: verdict.message },
          },
  };
}

/**
 * Reads that are never stale: straight from the API server, consistent (no resourceVersion is
 * given), and never from a cache.
 */

/** Result of a read; `why` is the API server's message, or why it could not be reached. */
export type Found<T> =
  | { readonly kind: 'found'; readonly value: T }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly why: string };

/** Reads one object, or the first page of a collection, which is all of it: no limit is given. */
async function read(
  api: Api,
  path: string,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Found<JsonObject>> {
  try {
    const response = await api.call({ method: 'GET', path, query }, signal);
    if (response.status === 404) return { kind: 'missing' };
    if (response.status !== 200 || !isObject(response.body))
      return { kind: 'unreadable', why: statusMessage(response) };
    return { kind: 'found', value: response.body };
  } catch (error) {
    if (isDefect(error)) throw error;
    return { kind: 'unreadable', why: errorText(error) };
  }
}

/** Reads one object. Rejects for defects only. */
export function getLive(api: Api, path: string, signal: AbortSignal): Promise<Found<JsonObject>> {
  return read(api, path, {}, signal);
}

/** Lists a collection. Rejects for defects only. `missing`: the kind is not served. */
export async function listLive(
  api: Api,
  path: string,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Found<readonly JsonObject[]>> {
  const list = await read(api, path, query, signal);
  if (list.kind !== 'found') return list;
  const items = list.value['items'];
  return { kind: 'found', value: Array.isArray(items) ? items.filter(isObject) : [] };
}

/** Lists the first of several collections that is served. Rejects for defects only. */
export async function listFirst(
  api: Api,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<Found<readonly JsonObject[]>> {
  for (const path of paths) {
    const list = await listLive(api, path, {}, signal);
    if (list.kind !== 'missing') return list;
  }
  return { kind: 'missing' };
}
