import type { ApiRequest } from './message.ts';
import type { Included } from './render.ts';

/** How much of each object the rows of a table hold. */
export const includedFrom = ({ query }: ApiRequest): Included => {
  const wanted = query.get('includeObject');
  return wanted === 'None' || wanted === 'Object' ? wanted : 'Metadata';
};
