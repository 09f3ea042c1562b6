import type { HoldView } from '../../../web/dashboard/scene.ts';

/** How many of the pods that have to go are gone. */
export const Progress = ({ hold }: { readonly hold: HoldView }) => (
  <div class="progress">
    <progress max={Math.max(hold.toEvict, 1)} value={hold.gone} aria-label={`${hold.gone} of ${hold.toEvict} pods gone`} />
    <span>
      {hold.gone} of {hold.toEvict} gone
    </span>
  </div>
);
