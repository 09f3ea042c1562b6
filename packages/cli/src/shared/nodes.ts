import { parseSelector, pathSegment } from '@drydock/apimachinery';
import { type Node, readNode } from '@drydock/core/node';
import type { Api, ApiResponse } from '@drydock/kube-client';
import { listPages } from '@drydock/kube-client';
import { UsageError } from '@drydock/utils';
import { refusedError } from './requests.ts';

/** Choice of nodes for a command: by name, or by label. */
export type NodeChoice = { readonly names: readonly string[]; readonly selector?: string };

/**
 * Checks the choice. Throws a UsageError, in kubectl's words, unless exactly one of names and
 * selector is given.
 */
export function nodeChoice(
  command: string,
  names: readonly string[],
  selector: string | undefined,
): NodeChoice {
  if (names.length === 0 && selector === undefined)
    throw new UsageError(`USAGE: ${command} NODE [flags]`);
  if (names.length > 0 && selector !== undefined && selector !== '')
    throw new UsageError('cannot specify both a node name and a --selector option');
  if (selector !== undefined && parseSelector(selector) === undefined) {
    throw new UsageError(
      `invalid value "${selector}" for --selector: expected a label selector such as pool=blue,!gpu`,
    );
  }
  return {
    names: names.map(plainName),
    ...(selector !== undefined && names.length === 0 && { selector }),
  };
}

/** Returns the plain name: `node/x` and `nodes/x` are x, as for kubectl. */
export function plainName(text: string): string {
  const [kind, name, ...rest] = text.split('/');
  if (name === undefined) return text;
  if (rest.length > 0 || name === '') throw new UsageError(`"${text}" is not the name of a node`);
  if (kind !== 'node' && kind !== 'nodes' && kind !== 'no')
    throw new UsageError(`expected resource of type node, got "${kind ?? ''}"`);
  return name;
}

export function nodePath(name: string): string {
  return `/api/v1/nodes/${pathSegment(name)}`;
}

function bodyOf(response: ApiResponse): unknown {
  if (response.status !== 200) throw refusedError(response);
  return response.body;
}

/**
 * Returns the distinct chosen nodes: in the order given, or sorted by name. Throws an ApiError in
 * kubectl's words for the first that does not exist. `pageSize`: 0 lists all at once.
 */
export async function findNodes(
  api: Api,
  { names, selector }: NodeChoice,
  pageSize: number,
): Promise<readonly Node[]> {
  if (selector === undefined) {
    const responses = await Promise.all(
      [...new Set(names)].map(name => api.call({ method: 'GET', path: nodePath(name) })),
    );
    return responses.map(response => readNode(bodyOf(response)));
  }
  const found: Node[] = [];
  const call = { path: '/api/v1/nodes', query: { labelSelector: selector } };
  const limit = pageSize === 0 ? undefined : pageSize;
  for await (const page of listPages(api, call, () => limit)) {
    if (page.kind === 'refused') throw refusedError(page.response);
    found.push(...page.items.map(readNode));
  }
  return found.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}
