import { computed } from '@preact/signals';
import { nodeBadge, plural } from '../model/words.ts';
import { follower, store } from '../page.ts';

const words = {
  connecting: 'connecting',
  live: 'live',
  reconnecting: 'reconnecting',
  locked: 'locked',
  refused: 'refused',
} as const;

const blockedCount = computed(
  () => store.held.value.filter(node => nodeBadge(node).tone === 'blocked').length,
);

function Figure({
  count,
  noun,
  tone = '',
}: {
  readonly count: number;
  readonly noun: string;
  readonly tone?: string;
}) {
  return (
    <li class={`figure ${count > 0 ? tone : ''}`}>
      <strong>{count.toLocaleString('en')}</strong> {noun}
    </li>
  );
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M3 6v18h26V6" />
      <path class="hull" d="M8 11h16l-3 8H11z" />
    </svg>
  );
}

/** Name and state of the cluster, and whether the dashboard is up to date. */
export function Header() {
  const state = follower.state.value;
  const facts = store.facts.value;
  const nodes = store.nodeCount();
  return (
    <header class="header">
      <h1>
        <Mark />
        Drydock <span class="cluster">{facts?.cluster ?? ''}</span>
      </h1>
      {facts !== undefined && (
        <ul class="figures" aria-label="Cluster totals">
          <Figure count={nodes} noun={nodes === 1 ? 'node' : 'nodes'} />
          <Figure count={store.pods.count.value} noun="pods" />
          <Figure count={store.held.value.length} noun="held" tone="held" />
          <Figure count={blockedCount.value} noun="blocked" tone="blocked" />
        </ul>
      )}
      <p class="states">
        {facts?.access === 'read-only' && <span class="badge">read-only</span>}
        <span
          class={`connection ${state.kind}`}
          role="status"
          title={'message' in state ? state.message : undefined}
        >
          {words[state.kind]}
        </span>
      </p>
    </header>
  );
}

/** Messages about the dashboard itself: collections that it cannot read, or has not read yet. */
export function WatchErrorList() {
  const facts = store.facts.value;
  if (facts === undefined) return null;
  return (
    <>
      {facts.loading.length > 0 && (
        <p class="page-trouble quiet">
          Reading the cluster: {plural(facts.loading.length, 'collection')} left…
        </p>
      )}
      {facts.unreadable.map(({ what, message }) => (
        <p key={what} class="page-trouble">
          <strong>{what} cannot be read:</strong> {message}
        </p>
      ))}
    </>
  );
}
