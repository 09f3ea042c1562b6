import type { ApiRequest } from './message.ts';
import type { Included } from './render.ts';

/** Returns the part of each object that the rows of a table include. */
export function includedFrom({ query }: ApiRequest): Included {
  const wanted = query.get('includeObject');
  return wanted === 'None' || wanted === 'Object' ? wanted : 'Metadata';
}
