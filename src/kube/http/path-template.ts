/**
 * The path of a call without the names in it, for metrics: `/api/v1/namespaces/{namespace}/pods/{name}/eviction`.
 * Kubernetes paths are regular: `/api/<version>` or `/apis/<group>/<version>`, then `namespaces/<namespace>` where there is one, then the
 * collection, the object's name, the subresource. Other paths (`/readyz`, `/openapi/v3`) are left as they are.
 */
export const pathTemplate = (path: string): string => {
  const parts = path.split('/');
  const start = parts[1] === 'api' ? 3 : parts[1] === 'apis' ? 4 : undefined;
  if (start === undefined) return path;
  const rest = parts.slice(start);
  const inNamespace = rest[0] === 'namespaces' && rest.length > 2 && !namespaceSubresources.has(rest[2] ?? '');
  const [collection, name, ...subresource] = inNamespace ? rest.slice(2) : rest;
  const template = [...parts.slice(0, start), ...(inNamespace ? ['namespaces', '{namespace}'] : [])];
  if (collection !== undefined) template.push(collection);
  if (name !== undefined) template.push('{name}', ...subresource);
  return template.join('/');
};

const namespaceSubresources: ReadonlySet<string> = new Set(['status', 'finalize']);
