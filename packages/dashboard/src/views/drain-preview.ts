import { drainBehaviorOf, seedPolicy } from '@drydock/core/drain';
import type { DrainInputs } from '@drydock/core/maintenance';
import { blockersNow, filterContextOf } from '@drydock/core/maintenance';
import { drainRequest } from '@drydock/core/request';
import type { DrainPreview } from '../scene.ts';
import { blockerView } from './views.ts';

/** Returns a preview of a drain. */
export function outlookOf(
  node: string,
  drainInputs: DrainInputs,
  choice: { readonly force: boolean; readonly deleteEmptyDirData: boolean },
  now: Temporal.Instant,
): DrainPreview {
  const imagined = drainRequest(node, { ...seedPolicy, ...choice }, now);
  const filterContext = filterContextOf({ nodeName: node, ...drainInputs }, now);
  const drainBehaviors = drainInputs.pods.map(
    pod => drainBehaviorOf(pod, imagined.policy, filterContext).behavior,
  );
  const stay = drainBehaviors.filter(behavior => behavior === 'ignore').length;
  return {
    leave: drainBehaviors.length - stay,
    stay,
    blockers: blockersNow(imagined, drainInputs, now).map(blockerView),
  };
}
