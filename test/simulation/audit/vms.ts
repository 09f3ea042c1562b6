import { at, objects, part, type Stored, text } from '@drydock/kube-sim';
import { type Around, type Checker, isDone, type Served } from './checker.ts';
import { isFinished, isLauncher, nodeOfPod, ownerOf } from './judgement.ts';
import { policyOf, stageOf, type Version } from './records.ts';

/**
 * VMs: asked once, never more than KubeVirt can take up, and shut down only where somebody has
 * agreed.
 */

const instances = 'virtualmachineinstances.kubevirt.io';

/** KubeVirt's own limit of migrations away from a node; stories leave it as it is. */
const perNode = 2;

function markOf(vmi: Stored): string {
  return text(vmi, 'status', 'evacuationNodeName');
}

function isMigratable(vmi: Stored): boolean {
  return objects(at(vmi, 'status', 'conditions')).some(
    one => one['type'] === 'LiveMigratable' && one['status'] === 'True',
  );
}

/** The strategy in force; stories leave the cluster's own at LiveMigrate. */
function strategyOf(vmi: Stored): string {
  return text(vmi, 'spec', 'evictionStrategy') || 'LiveMigrate';
}

function isShutDownBy(vmi: Stored): boolean {
  return (
    strategyOf(vmi) === 'None' ||
    (strategyOf(vmi) === 'LiveMigrateIfPossible' && !isMigratable(vmi))
  );
}

export function vmChecker(around: Around): Checker {
  const { store, records, fail, nowMs, staleMs } = around;
  const markedAt = new Map<string, number>();

  const vmiOf = (pod: Stored): Stored | undefined => {
    const vmi = store.get(
      instances,
      pod.metadata.namespace ?? '',
      pod.metadata.annotations?.['kubevirt.io/domain'] ?? '',
    );
    const hasEnded = ['Succeeded', 'Failed'].includes(text(vmi, 'status', 'phase'));
    return vmi !== undefined && !hasEnded && text(vmi, 'status', 'nodeName') === nodeOfPod(pod)
      ? vmi
      : undefined;
  };

  const agreesToStop = (version: Version): boolean => {
    const said = text(part(policyOf(version), 'virtualMachines'), 'notMigrated');
    return stageOf(version.object) === 'Drain' && (said === '' || said === 'Evict');
  };

  const asked = ({
    target,
  }: Served): { readonly pod: Stored; readonly vmi: Stored } | undefined => {
    const pod =
      target.resource === 'pods' && target.sub === 'eviction'
        ? store.get('pods', target.namespace, target.name)
        : undefined;
    if (pod === undefined || !isLauncher(pod) || isFinished(pod)) return undefined;
    const vmi = vmiOf(pod);
    return vmi && { pod, vmi };
  };

  const before = (served: Served): void => {
    const { pod, vmi } = asked(served) ?? {};
    if (pod === undefined || vmi === undefined) return;
    const key = `${vmi.metadata.namespace}/${vmi.metadata.name}`;
    const since = markedAt.get(vmi.metadata.uid);
    if (markOf(vmi) !== '' && since !== undefined && nowMs() - since > staleMs())
      fail('VMs', `${key} is asked to move although it is marked already`);
    if (!isShutDownBy(vmi)) return;
    const agreed = records.wanting(nodeOfPod(pod), staleMs()).some(agreesToStop);
    if (!agreed) fail('VMs', `${key} is shut down by its eviction, and nobody has agreed to that`);
  };

  const after: Checker['after'] = (served, answer) => {
    const { pod } = asked(served) ?? {};
    if (pod === undefined || isDone(answer)) return;
    const node = nodeOfPod(pod);
    // Somebody makes odd ones, which run nowhere.
    const running = new Set(
      store
        .indexed('pods', 'spec.nodeName', node)
        .flatMap(one => (isLauncher(one) ? [ownerOf(one)?.uid] : [])),
    );
    const marked = store
      .list(instances)
      .filter(
        vmi =>
          markOf(vmi) === node &&
          text(vmi, 'status', 'nodeName') === node &&
          strategyOf(vmi) !== 'External',
      )
      .filter(({ metadata }) => running.has(metadata.uid));
    if (marked.length > perNode + 1)
      fail(
        'VMs',
        `${marked.length} VMs of node ${node} are marked; KubeVirt moves ${perNode} at a time`,
      );
  };

  return {
    before,
    after,
    changed: ({ resource, object, type }) => {
      if (resource !== instances) return;
      const { uid } = object.metadata;
      if (type === 'removed' || markOf(object) === '') markedAt.delete(uid);
      else if (!markedAt.has(uid)) markedAt.set(uid, nowMs());
    },
  };
}
