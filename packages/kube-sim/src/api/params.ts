import { isObject } from '@drydock/apimachinery';
import { badRequest, type Failure } from '../failure.ts';
import type { DeleteOptions, WriteOptions } from '../registry/outcome.ts';
import type { ApiRequest } from './message.ts';

/** Parsers of query parameters and DeleteOptions. */

export type Params<T> =
  | { readonly kind: 'read'; readonly value: T }
  | { readonly kind: 'refused'; readonly failure: Failure };

function read<T>(value: T): Params<T> {
  return { kind: 'read', value };
}
function refuse<T>(message: string): Params<T> {
  return { kind: 'refused', failure: badRequest(message) };
}

export function isYes(value: string | undefined): boolean {
  return value !== undefined && value !== 'false' && value !== '0';
}

/** Parses a whole number; returns the parser's error in Go's words otherwise. */
export function number(text: string | undefined): Params<number | undefined> {
  if (text === undefined || text === '') return read(undefined);
  return /^-?[0-9]+$/.test(text)
    ? read(Number(text))
    : refuse(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
}

export function version(text: string | undefined): Params<number | undefined> {
  if (text === undefined || text === '') return read(undefined);
  if (/^[0-9]+$/.test(text)) return read(Number(text));
  const quoted = JSON.stringify(text);
  return refuse(
    `invalid resource version: resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: invalid syntax`,
  );
}

/** Returns whether nothing may be written. */
export function isDryRun({ query }: ApiRequest): boolean {
  return query.get('dryRun') === 'All';
}

/**
 * Returns whether a deletion is a dry run: its options, or those in an Eviction, may request that
 * too.
 */
export function isDryDeletion(request: ApiRequest): boolean {
  const { body, path } = request;
  const given = body.kind === 'json' && isObject(body.value) ? body.value : {};
  const options =
    path.endsWith('/eviction') && isObject(given['deleteOptions']) ? given['deleteOptions'] : given;
  const said = options['dryRun'];
  return isDryRun(request) || (Array.isArray(said) && said.includes('All'));
}

const validations = ['Ignore', 'Warn', 'Strict'] as const;

export function writeOptions(request: ApiRequest): Params<WriteOptions> {
  const { query } = request;
  const wanted = query.get('fieldValidation');
  const fieldValidation = validations.find(one => one === wanted);
  return read({
    dryRun: isDryRun(request),
    manager: managerOf(request),
    ...(fieldValidation === undefined ? {} : { fieldValidation }),
  });
}

const policies = ['Orphan', 'Background', 'Foreground'] as const;

/** Returns the options from the body, or from the query where there is none. */
export function deleteOptions(request: ApiRequest): Params<DeleteOptions> {
  const { query, body } = request;
  if (body.kind === 'undecoded') return refuse(body.why);
  const given = body.kind === 'json' && isObject(body.value) ? body.value : {};
  const seconds =
    given['gracePeriodSeconds'] ??
    (query.has('gracePeriodSeconds') ? Number(query.get('gracePeriodSeconds')) : undefined);
  const policy = given['propagationPolicy'] ?? query.get('propagationPolicy');
  const orphans =
    given['orphanDependents'] ??
    (query.has('orphanDependents') ? isYes(query.get('orphanDependents')) : undefined);
  const propagationPolicy = policies.find(one => one === policy);
  const { uid, resourceVersion } = isObject(given['preconditions']) ? given['preconditions'] : {};
  return read({
    dryRun: isDryDeletion(request),
    ...(typeof seconds === 'number' ? { gracePeriodSeconds: seconds } : {}),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(typeof orphans === 'boolean' ? { orphanDependents: orphans } : {}),
    preconditions: {
      ...(typeof uid === 'string' ? { uid } : {}),
      ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
    },
  });
}

/**
 * Returns the field manager: from the query, or the program's name. Upstream: managerOrUserAgent of
 * apiserver/pkg/endpoints/handlers.
 */
export function managerOf({ query, userAgent }: ApiRequest): string {
  return query.get('fieldManager') ?? (userAgent.split('/')[0] || 'unknown');
}
