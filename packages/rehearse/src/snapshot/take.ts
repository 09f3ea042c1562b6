import type { JsonObject } from '@drydock/apimachinery';
import { statusMessage } from '@drydock/apimachinery';
import type { Api, ApiResponse } from '@drydock/kube-client';
import { listPages } from '@drydock/kube-client';
import { Shared } from './files.ts';
import { type ClusterSnapshot, type CopiedKind, copiedKinds, pathOfKind } from './kept.ts';
import { redacted } from './kept-fields.ts';

/** Limit of objects in one call. */
const pageSize = 500;

type Listed =
  | { readonly kind: 'listed'; readonly objects: readonly JsonObject[] }
  | { readonly kind: 'refused'; readonly answer: ApiResponse };

async function list(api: Api, copied: CopiedKind, shared: Shared): Promise<Listed> {
  const { apiVersion, kind } = copied;
  const objects: JsonObject[] = [];
  for await (const page of listPages(api, { path: pathOfKind(copied) }, () => pageSize)) {
    if (page.kind === 'refused') return { kind: 'refused', answer: page.response };
    for (const item of page.items as readonly JsonObject[])
      objects.push(shared.of(redacted({ apiVersion, kind, ...item })));
  }
  return { kind: 'listed', objects };
}

type TakeOptions = {
  readonly api: Api;
  readonly now: () => Temporal.Instant;
  /** Callback for every kind that has been read. */
  readonly tell?: (plural: string, count: number) => void;
};

/**
 * Reads what a rehearsal needs, by lists only, page by page. Forbidden and unserved kinds are left
 * out, and forbidden ones are named. Throws an error with the server's message when nodes or pods
 * cannot be read, or a list fails otherwise.
 */
export async function takeCopy({
  api,
  now,
  tell = () => {},
}: TakeOptions): Promise<ClusterSnapshot> {
  const snapshotTime = now();
  const objects: JsonObject[] = [];
  const leftOut: string[] = [];
  const shared = new Shared();
  for (const copied of copiedKinds) {
    const listed = await list(api, copied, shared);
    if (listed.kind === 'listed') {
      for (const one of listed.objects) objects.push(one);
      tell(copied.plural, listed.objects.length);
      continue;
    }
    const { status } = listed.answer;
    if (status === 404 && copied.needed !== true) continue;
    if (status !== 403 || copied.needed === true)
      throw new Error(`cannot read ${copied.plural}: ${statusMessage(listed.answer)}`);
    leftOut.push(`${copied.plural}: ${statusMessage(listed.answer)}`);
  }
  return { snapshotTime, objects, leftOut };
}
