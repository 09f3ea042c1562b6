import type { JsonObject } from '@drydock/apimachinery';
import { readMaintenancePlan } from '@drydock/apis';
import { maintenancePlanSpec } from '@drydock/apis/schema';
import { objects, text } from '@drydock/kube-sim';
import { planExpressions } from '@drydock/operator/plans';
import { UsageError } from '@drydock/utils';
import { documentsIn, plainOutput, printText, written } from '../../shared/output.ts';
import { type Imported, importKured, isKured, nameOf } from './kured.ts';
import { importPool, importUpgradePlan } from './upgrade-plan.ts';

/** `drydock plan import`: converts configurations of other systems to MaintenancePlans. */

function titleOf(object: JsonObject): string {
  return `${text(object, 'kind') || 'something'} ${nameOf(object)}`;
}

/** Converts an object; returns undefined for a kind that cannot be imported. */
function importObject(object: JsonObject): Imported | undefined {
  const [kind, group] = [text(object, 'kind'), text(object, 'apiVersion').split('/')[0]];
  if (kind === 'Plan' && group === 'upgrade.cattle.io') return importUpgradePlan(object);
  if (kind === 'MachineConfigPool' && group === 'machineconfiguration.openshift.io')
    return importPool(object);
  if (kind === 'DaemonSet' && group === 'apps' && isKured(object)) return importKured(object);
  return undefined;
}

function objectsIn(file: string): readonly JsonObject[] {
  return documentsIn(file).flatMap(one =>
    text(one, 'kind').endsWith('List') ? objects(one['items']) : [one],
  );
}

/** Checks that every printed plan is one that the API server accepts. */
function checked(file: string, from: JsonObject, { objects: made }: Imported): void {
  const [plan] = made;
  if (plan === undefined) return;
  const read = maintenancePlanSpec.safeParse(plan['spec']);
  const [issue] = read.error?.issues ?? [];
  if (issue !== undefined)
    throw new UsageError(
      `${file}: ${titleOf(from)} cannot be imported: spec.${issue.path.join('.')}: ${issue.message}`,
    );
  const { problem } = planExpressions(readMaintenancePlan(plan));
  if (problem !== undefined)
    throw new UsageError(`${file}: ${titleOf(from)} cannot be imported: ${problem}`);
}

/**
 * Prints MaintenancePlans, paused, and windows for the objects in the file, and on stderr what
 * could not be converted. Contacts no cluster. Throws a UsageError that names the file when it
 * contains nothing to import, or no such object.
 */
export function importPlans(file: string): void {
  const all = objectsIn(file).flatMap(from => {
    const imported = importObject(from);
    if (imported === undefined)
      plainOutput.note(`${titleOf(from)}: skipped, no plan comes from it`);
    else checked(file, from, imported);
    return imported === undefined ? [] : [{ from, imported }];
  });
  if (all.length === 0)
    throw new UsageError(
      `${file} contains no Plan of system-upgrade-controller, no DaemonSet of kured and no MachineConfigPool`,
    );
  for (const { from, imported } of all)
    for (const line of imported.left) plainOutput.note(`${titleOf(from)}: ${line}`);
  const documents = all
    .flatMap(({ imported }) => imported.objects)
    .map(object => written(object, 'yaml'));
  printText(documents.join('\n---\n'));
}
