import type { HoldView } from '../../../src/scene.ts';

/** Number of evicted pods that are gone. */
export function Progress({ hold }: { readonly hold: HoldView }) {
  return (
    <div class="progress">
      <progress
        max={Math.max(hold.toEvict, 1)}
        value={hold.gone}
        aria-label={`${hold.gone} of ${hold.toEvict} pods gone`}
      />
      <span>
        {hold.gone} of {hold.toEvict} gone
      </span>
    </div>
  );
}
