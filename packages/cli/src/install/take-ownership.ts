import { pathSegment, statusMessage } from '@drydock/apimachinery';
import type { Api } from '@drydock/kube-client';
import { listAll } from '@drydock/kube-client';
import { plainOutput } from '../shared/output.ts';
import type { AccessQuestion } from './access.ts';
import type { Manifest } from './install-files.ts';
import { lineOf } from './install-lines.ts';
import { Locator } from './install-locate.ts';
import type { StoredObject } from './inventory.ts';
import { helmMarks, releaseOfHelm } from './managers.ts';
import { Remover } from './remover.ts';

/** Takes over an installation from a Helm release, which is then forgotten. */

/** A Helm release, in the namespace of its installation. */
type Release = { readonly release: string; readonly namespace: string };

/** Kinds in which Helm stores its releases, unless it is configured to use a database. */
const records = [
  { kind: 'Secret', plural: 'secrets' },
  { kind: 'ConfigMap', plural: 'configmaps' },
] as const;

/** Returns the rights for deleting Helm's records of a release. */
export function accessToTake(namespace: string): readonly AccessQuestion[] {
  return records.flatMap(({ plural }) =>
    ['list', 'delete'].map(verb => ({ verb, group: '', resource: plural, namespace })),
  );
}

/**
 * Returns Helm's records of a release: with them, helm uninstall deletes all objects of the
 * release, even those taken over.
 */
async function recordsOf(
  api: Api,
  { release, namespace }: Release,
): Promise<readonly StoredObject[]> {
  const lists = await Promise.all(
    records.map(async ({ kind, plural }) => {
      const path = `/api/v1/namespaces/${pathSegment(namespace)}/${plural}`;
      const items = await listAll(
        api,
        path,
        { labelSelector: `owner=helm,name=${release}` },
        'empty',
      );
      return (items as readonly StoredObject[]).map(item => ({ ...item, apiVersion: 'v1', kind }));
    }),
  );
  return lists
    .flat()
    .filter(({ metadata }) => metadata.name.startsWith(`sh.helm.release.v1.${release}.v`));
}

/**
 * Removes the annotations by which Helm recognizes an object as its own. Returns whether that
 * failed.
 */
async function unmark(
  api: Api,
  object: Manifest,
  path: string,
  { release, namespace }: Release,
): Promise<boolean> {
  const found = await api.call({ method: 'GET', path });
  const { metadata } = found.body as StoredObject;
  if (found.status !== 200 || releaseOfHelm({ ...object, metadata }, namespace) !== release)
    return false;
  const isManaged = metadata.labels?.['app.kubernetes.io/managed-by'] === 'Helm';
  const answer = await api.call({
    method: 'PATCH',
    path,
    contentType: 'application/merge-patch+json',
    body: {
      metadata: {
        uid: metadata.uid,
        annotations: {
          [helmMarks.release]: null,
          [helmMarks.namespace]: null,
          'helm.sh/resource-policy': null,
        },
        ...(isManaged && { labels: { 'app.kubernetes.io/managed-by': null } }),
      },
    },
  });
  if (answer.status === 200 || answer.status === 404) return false;
  plainOutput.line(lineOf(object, 'FAILED', { why: statusMessage(answer) }));
  return true;
}

/**
 * Deletes Helm's records first: an interrupted takeover can be repeated as long as an object
 * carries Helm's annotations.
 */
export async function takeFromHelm(
  api: Api,
  release: Release,
  objects: readonly Manifest[],
  dryRun: boolean,
): Promise<void> {
  const found = await recordsOf(api, release);
  if (found.length === 0)
    plainOutput.note(
      `drydock: nothing in namespace ${release.namespace} remembers release ${release.release} of Helm; where Helm keeps it in a database, take it out of there: helm uninstall would remove this installation`,
    );
  if ((await new Remover(api, { dryRun, removed: 'deleted' }).removeAll(found)) > 0)
    throw new Error(
      `Helm still knows its release; kubectl -n ${release.namespace} delete secrets,configmaps -l owner=helm,name=${release.release} makes it forget it, then do this again`,
    );
  if (dryRun) return;
  const locator = new Locator(api);
  let failed = 0;
  for (const object of objects) {
    const located = await locator.find(object);
    if (located.kind === 'known' && (await unmark(api, object, located.path, release))) failed += 1;
  }
  if (failed > 0)
    throw new Error(
      `${failed} objects still carry the marks of Helm; see above, then do this again`,
    );
  plainOutput.line(
    `release ${release.release} of Helm is taken over: drydock install and drydock uninstall are for it from now on`,
  );
}
