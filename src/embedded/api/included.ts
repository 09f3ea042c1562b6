import type { Request } from './message.ts';
import type { Included } from './render.ts';

/** How much of each object the rows of a table hold. */
export const includedFrom = ({ query }: Request): Included => {
  const wanted = query.get('includeObject');
  return wanted === 'None' || wanted === 'Object' ? wanted : 'Metadata';
};
