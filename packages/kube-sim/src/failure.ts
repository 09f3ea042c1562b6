/**
 * An error response of an API server: metav1.Status, as apimachinery's api/errors package builds
 * it.
 */
export type Failure = {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: Readonly<Record<string, never>>;
  readonly status: 'Failure';
  readonly message: string;
  readonly reason?: string;
  readonly details?: Details;
  readonly code: number;
};

type Details = {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly Cause[];
  readonly retryAfterSeconds?: number;
};

/** An invalid field, with the reason. */
export type Cause = { readonly reason?: string; readonly message: string; readonly field?: string };

/** Subject of a response: a resource (`pods`) or, where Go uses it, a kind. */
export type GroupResource = { readonly group: string; readonly resource: string };

function make(
  code: number,
  reason: string | undefined,
  message: string,
  details?: Details,
): Failure {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    ...(reason === undefined ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  };
}

function qualified({ group, resource }: GroupResource): string {
  return group === '' ? resource : `${resource}.${group}`;
}

function detailsOf({ group, resource }: GroupResource, name: string, more: Details = {}): Details {
  return {
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { group }),
    ...(resource === '' ? {} : { kind: resource }),
    ...more,
  };
}

export function notFound(what: GroupResource, name: string): Failure {
  return make(404, 'NotFound', `${qualified(what)} "${name}" not found`, detailsOf(what, name));
}

/** Returns the error for unknown paths of a served version. */
export function noSuchResource(): Failure {
  return make(404, 'NotFound', 'the server could not find the requested resource', {});
}

export function methodNotAllowed(): Failure {
  return make(
    405,
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
    {},
  );
}

export function alreadyExists(what: GroupResource, name: string): Failure {
  return make(
    409,
    'AlreadyExists',
    `${qualified(what)} "${name}" already exists`,
    detailsOf(what, name),
  );
}

/**
 * Returns the error for a generated name in use: the client may retry (registry/rest
 * CheckGeneratedNameError).
 */
export function generatedNameTaken(what: GroupResource, name: string): Failure {
  return make(
    409,
    'AlreadyExists',
    `${qualified(what)} "${name}" already exists, the server was not able to generate a unique name for the object`,
    detailsOf(what, name),
  );
}

export function conflict(
  what: GroupResource,
  name: string,
  why: string,
  causes?: readonly Cause[],
): Failure {
  return make(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(what)} "${name}": ${why}`,
    detailsOf(what, name, causes === undefined ? {} : { causes }),
  );
}

export const modifiedMeanwhile =
  'the object has been modified; please apply your changes to the latest version and try again';

/** Returns the error of a server-side apply for fields of other managers. */
export function applyConflict(message: string, causes: readonly Cause[]): Failure {
  return make(409, 'Conflict', message, { causes });
}

export function forbidden(
  what: GroupResource,
  name: string,
  why: string,
  causes?: readonly Cause[],
): Failure {
  return make(
    403,
    'Forbidden',
    `${qualified(what)}${name === '' ? '' : ` "${name}"`} is forbidden: ${why}`,
    detailsOf(what, name, causes === undefined ? {} : { causes }),
  );
}

/** Returns the error for forbidden non-resource paths. */
export function forbiddenPath(why: string): Failure {
  return make(403, 'Forbidden', `forbidden: ${why}`, {});
}

export function badRequest(message: string): Failure {
  return make(400, 'BadRequest', message);
}

/** Returns the error for invalid fields; `what` names the kind. */
export function invalid(what: GroupResource, name: string, causes: readonly Cause[]): Failure {
  const texts = [
    ...new Set(
      causes.map(({ message, field }) => (field === undefined ? message : `${field}: ${message}`)),
    ),
  ];
  const all = texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
  return make(
    422,
    'Invalid',
    `${qualified(what)} "${name}" is invalid: ${all}`,
    detailsOf(what, name, { causes }),
  );
}

export function unsupportedMediaType(message: string, details?: Details): Failure {
  return make(415, 'UnsupportedMediaType', message, details);
}

export function tooLarge(limit: number): Failure {
  return make(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${limit}`);
}

/**
 * Returns the error for web sockets: Java's client tries them first for watches, and falls back to
 * plain HTTP after this error.
 */
export function noWebSockets(): Failure {
  return make(503, 'ServiceUnavailable', 'this server has no web sockets: watch over plain HTTP');
}

export function unauthorized(): Failure {
  return make(401, 'Unauthorized', 'Unauthorized');
}

/** Returns a 410: the requested version is no longer kept. */
export function expired(message: string): Failure {
  return make(410, 'Expired', message);
}

export function tooManyRequests(
  message: string,
  retryAfterSeconds: number,
  causes: readonly Cause[],
): Failure {
  return make(429, 'TooManyRequests', message, {
    causes,
    ...(retryAfterSeconds > 0 ? { retryAfterSeconds } : {}),
  });
}

export function internalError(why: string): Failure {
  return make(500, 'InternalError', `Internal error occurred: ${why}`, {
    causes: [{ message: why }],
  });
}

/** Returns a webhook's denial, in its words. */
export function denial(code: number, reason: string, message: string): Failure {
  return make(code, reason === '' ? undefined : reason, message);
}

/** Returns an error without a reason. */
export function unnamed(code: number, message: string): Failure {
  return make(code, undefined, message);
}

/** Response to a deletion without an object to return. */
export type Success = {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: Readonly<Record<string, never>>;
  readonly status: 'Success';
  readonly details?: Details;
  readonly code?: number;
};

export function success(details?: Details, code?: number): Success {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    ...(details === undefined ? {} : { details }),
    ...(code === undefined ? {} : { code }),
  };
}

/** Formats a value in a message as Go's field errors do. */
function shown(value: unknown): string {
  return value === undefined ? 'null' : JSON.stringify(value);
}

export function required(field: string, message = ''): Cause {
  return {
    reason: 'FieldValueRequired',
    message: message === '' ? 'Required value' : `Required value: ${message}`,
    field,
  };
}

export function wrong(field: string, value: unknown, message: string): Cause {
  return {
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${shown(value)}: ${message}`,
    field,
  };
}

export function notOneOf(field: string, value: unknown, allowed: readonly string[]): Cause {
  return {
    reason: 'FieldValueNotSupported',
    message: `Unsupported value: ${shown(value)}: supported values: ${allowed.map(one => JSON.stringify(one)).join(', ')}`,
    field,
  };
}

export function notAllowed(field: string, message: string): Cause {
  return {
    reason: 'FieldValueForbidden',
    message: `Forbidden: ${message}`,
    field,
  };
}

export function duplicate(field: string, value: unknown): Cause {
  return {
    reason: 'FieldValueDuplicate',
    message: `Duplicate value: ${shown(value)}`,
    field,
  };
}
