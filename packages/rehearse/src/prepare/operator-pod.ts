import type { JsonObject } from '@drydock/apimachinery';
import { at, objects, strings, text } from '@drydock/kube-sim';
import { ofKind } from '../snapshot/kept.ts';
import { keyOf } from '../snapshot/workloads.ts';

function isOperator(pod: JsonObject): boolean {
  return (
    strings(at(pod, 'metadata', 'labels'))['app.kubernetes.io/name'] === 'drydock' &&
    objects(at(pod, 'spec', 'containers')).some(
      container =>
        text(container, 'name') === 'operator' &&
        objects(container['env']).some(({ name }) => name === 'NODE_NAME'),
    )
  );
}

/**
 * Returns the pod of the copied cluster's operator (`namespace/name`), and its node, which a plan
 * starts last: of several replicas the first by name, because a copy does not show which of them
 * leads. Undefined where none runs in the cluster.
 */
export function operatorPod(
  all: readonly JsonObject[],
): { readonly pod: string; readonly node: string } | undefined {
  const running = ofKind(all, 'Pod').filter(
    pod => isOperator(pod) && text(pod, 'status', 'phase') === 'Running',
  );
  const [first] = running.toSorted((one, other) =>
    text(one, 'metadata', 'name') < text(other, 'metadata', 'name') ? -1 : 1,
  );
  const node = first === undefined ? '' : text(first, 'spec', 'nodeName');
  return first === undefined || node === '' ? undefined : { pod: keyOf(first), node };
}
