import { badRequest, invalid, wrong } from '../failure.ts';
import type { Kind } from '../kinds/kind.ts';
import { apiVersionOf } from '../kinds/kind.ts';
import type { Draft } from '../object.ts';
import { type Refused, refused, type WriteOptions } from './outcome.ts';

type ReadStrictly =
  | { readonly kind: 'read'; readonly draft: Draft; readonly warnings: readonly string[] }
  | Refused;

/**
 * Decodes an object of a client. Unknown fields are dropped, with a warning or an error as the
 * client requests.
 */
export function readStrictly(
  kind: Kind,
  given: Draft,
  { fieldValidation = 'Warn' }: WriteOptions,
  ofPatch = false,
): ReadStrictly {
  const read = kind.read(given);
  if (read.kind === 'unreadable') {
    return refused(
      badRequest(
        `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${read.message}`,
      ),
    );
  }
  const known = kind.shape.kind === 'schema' ? read.unknown.toSorted() : read.unknown;
  const problems = known.map(field => `unknown field "${field}"`);
  if (problems.length > 0 && fieldValidation === 'Strict') {
    if (ofPatch)
      return refused(
        invalid({ group: '', resource: '' }, '', [
          wrong('patch', 'the patch', `strict decoding error: ${problems.join(', ')}`),
        ]),
      );
    const what =
      kind.shape.kind === 'go'
        ? `${kind.kind} in version "${kind.version}"`
        : `${kind.kind} in version "${apiVersionOf(kind)}"`;
    return refused(
      badRequest(
        `${what} cannot be handled as a ${kind.kind}: strict decoding error: ${problems.join(', ')}`,
      ),
    );
  }
  return {
    kind: 'read',
    draft: read.object,
    warnings: fieldValidation === 'Ignore' ? [] : problems,
  };
}
