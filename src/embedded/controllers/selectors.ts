import type { Json } from '../../core/json.ts';
import { isObject } from '../../core/json.ts';
import { matches } from '../../core/pod/selector.ts';
import { type Stored, strings } from '../object.ts';

/** Whether a label selector (metav1.LabelSelector) picks the object; a missing one picks nothing. */
export const picks = (selector: Json | undefined, { metadata }: Stored): boolean =>
  matches(isObject(selector) ? selector : undefined, strings(metadata.labels));
