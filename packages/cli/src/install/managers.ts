import { shellWord } from '../shared/shell.ts';
import type { StoredObject } from './inventory.ts';

/**
 * Tool that installed Drydock; it would miss objects that another tool removes, or revert changes.
 */
export type InstallationManager =
  | { readonly tool: 'Helm'; readonly release: string }
  | { readonly tool: 'OLM'; readonly removal: string; readonly update: string };

/** Annotations by which Helm recognizes its objects. */
export const helmMarks = {
  release: 'meta.helm.sh/release-name',
  namespace: 'meta.helm.sh/release-namespace',
} as const;

/**
 * Returns the Helm release that installed an object: the chart installs into the namespace of its
 * release, so annotations with another one are not Helm's.
 */
export function releaseOfHelm(
  { metadata: { annotations = {} } }: StoredObject,
  namespace: string,
): string | undefined {
  const release = annotations[helmMarks.release];
  return annotations[helmMarks.namespace] === namespace &&
    /^[a-z0-9]([-.a-z0-9]{0,51}[a-z0-9])?$/.test(release ?? '')
    ? release
    : undefined;
}

/**
 * Returns the tool that manages the installation; undefined for this command, kubectl or kustomize.
 */
export function managerOf(
  here: readonly StoredObject[],
  namespace: string,
): InstallationManager | undefined {
  // Helm and OLM leave namespaces behind: without other objects, they have already uninstalled.
  const all = here.filter(({ kind }) => kind !== 'Namespace');
  const labelled = (name: string): string | undefined =>
    all.map(({ metadata }) => metadata.labels?.[name]).find(value => value !== undefined);
  const extension = labelled('olm.operatorframework.io/owner-name');
  if (extension !== undefined)
    return {
      tool: 'OLM',
      removal: `kubectl delete clusterextension ${shellWord(extension)}, which deletes the kinds with all their objects`,
      update: `the version in clusterextension ${shellWord(extension)}`,
    };
  const release = all
    .map(object => releaseOfHelm(object, namespace))
    .find(name => name !== undefined);
  if (release !== undefined) return { tool: 'Helm', release };
  const version = labelled('olm.owner');
  if (version === undefined) return undefined;
  return {
    tool: 'OLM',
    removal: `delete its Subscription, then kubectl -n ${namespace} delete clusterserviceversion ${shellWord(version)}`,
    update: `its CatalogSource and Subscription (kubectl -n ${namespace} get subscriptions)`,
  };
}

/** Returns the text for users who want to remove the installation in this namespace. */
export function removalBy(manager: InstallationManager, namespace: string): string {
  const removal =
    manager.tool === 'Helm'
      ? `helm uninstall ${manager.release} --namespace ${namespace}`
      : manager.removal;
  return `${manager.tool} has installed it: ${removal}; then drydock uninstall removes what it leaves`;
}

/** Returns the text for users who want to change the installation in this namespace. */
export function changeBy(manager: InstallationManager, namespace: string): string {
  return manager.tool === 'Helm'
    ? `Helm has installed it: helm upgrade ${manager.release} CHART --namespace ${namespace} changes it; --take-ownership goes on without Helm, whose release is forgotten then`
    : `OLM has installed it, and would change it back: change ${manager.update}; or let OLM remove it first: ${manager.removal}`;
}
