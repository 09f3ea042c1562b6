import { byAge, type Dialect, type Request } from '../../core/request/request.ts';
import { listAll } from '../../operator/list.ts';
import type { Api } from '../../operator/ports.ts';

/** All maintenances of the served kinds, on one node or on all, oldest first. Throws an error that says what could not be read. */
export const requestsOf = async (api: Api, dialects: readonly Dialect[], node?: string): Promise<readonly Request[]> => {
  const lists = await Promise.all(
    dialects.map(async dialect => {
      const objects = await listAll(api, dialect.path, {}, 'none if missing');
      return objects.map(dialect.read).filter(request => typeof request !== 'string');
    }),
  );
  return lists
    .flat()
    .filter(({ nodeName }) => node === undefined || nodeName === node)
    .toSorted(byAge);
};

/** How people call it: `NodeMaintenance disk`, `Maintenance ops/n1`. */
export const titleOf = ({ dialect, namespace, name }: Request): string =>
  `${dialect.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
