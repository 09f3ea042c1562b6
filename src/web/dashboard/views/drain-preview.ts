import { judge } from '../../../core/drain/filters.ts';
import { blockersNow } from '../../../core/maintenance/blockers-now.ts';
import type { Glance } from '../../../core/maintenance/drain-inputs.ts';
import { circumstancesOf } from '../../../core/maintenance/filter-context.ts';
import { drainRequest } from '../../../core/request/ad-hoc.ts';
import { seedPolicy } from '../../../core/request/policy.ts';
import type { Outlook } from '../scene.ts';
import { blockerView } from './views.ts';

/** What a drain would find, before anybody has asked for one. */
export const outlookOf = (
  node: string,
  glance: Glance,
  choice: { readonly force: boolean; readonly deleteEmptyDirData: boolean },
  now: Temporal.Instant,
): Outlook => {
  const imagined = drainRequest(node, { ...seedPolicy, ...choice }, now);
  const circumstances = circumstancesOf({ nodeName: node, ...glance }, now);
  const fates = glance.pods.map(pod => judge(pod, imagined.policy, circumstances).fate);
  const stay = fates.filter(fate => fate === 'ignore').length;
  return { leave: fates.length - stay, stay, blockers: blockersNow(imagined, glance, now).map(blockerView) };
};
