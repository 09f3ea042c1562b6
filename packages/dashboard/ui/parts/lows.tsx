import type { WorkloadView } from '../../src/scene.ts';
import { since } from '../model/words.ts';
import { now, store } from '../page.ts';

function Low({ low: { key, kind, ready, replicas, lowest } }: { readonly low: WorkloadView }) {
  const isWhole = ready >= replicas;
  return (
    <li class={isWhole ? 'low' : 'low under'}>
      <p class="low-head">
        <span class="low-name">{key}</span>
        <span class="quiet">{kind}</span>
      </p>
      <p>
        {lowest.ready} of {lowest.replicas} ready, {since(lowest.at, now.value)} ago; {ready} of{' '}
        {replicas} now
      </p>
    </li>
  );
}

/** Lowest availability of workloads since the dashboard started watching, the worst first. */
export function Lows() {
  const lows = store.lows.value;
  if (lows.length === 0) return null;
  return (
    <section class="lows" aria-labelledby="lows-title">
      <h2 id="lows-title">Lowest availability</h2>
      <ul>
        {lows.map(low => (
          <Low key={low.key} low={low} />
        ))}
      </ul>
    </section>
  );
}
