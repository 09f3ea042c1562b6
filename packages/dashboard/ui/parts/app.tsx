import { computed } from '@preact/signals';
import { follower, narrow, notice, selected, store } from '../page.ts';
import { Dialogs } from './dialogs/dialogs.tsx';
import { Header, WatchErrorList } from './header.tsx';
import { Zones } from './nodes/zones.tsx';
import { Side } from './side.tsx';
import { TimeLine } from './time-line.tsx';

/** Text for screen readers: changes of nodes, not of every pod. */
const spoken = computed(() => {
  const last = store.news.value.find(({ loud }) => loud);
  return last === undefined ? '' : `${last.about} ${last.text}`;
});

function Locked() {
  return (
    <main class="gate">
      <h2>This page needs the full link</h2>
      <p>
        Open the full link that <code>drydock</code> printed in the terminal. The part after the{' '}
        <code>#</code> is the key: without it nobody can see or change the cluster. A link is valid
        for as long as that command runs.
      </p>
    </main>
  );
}

function Refused({ message }: { readonly message: string }) {
  return (
    <main class="gate">
      <h2>The server refused this page</h2>
      <p>{message}</p>
    </main>
  );
}

function Notice() {
  return (
    <div class="notices" role="status">
      {notice.value !== undefined && <p class="notice">{notice.value.message}</p>}
    </div>
  );
}

function Body() {
  const state = follower.state.value;
  if (state.kind === 'locked') return <Locked />;
  if (state.kind === 'refused') return <Refused message={state.message} />;
  if (store.facts.value === undefined) return <main class="gate quiet">Connecting…</main>;
  return (
    <main class={`body ${selected.value === undefined ? '' : 'with-details'}`}>
      <WatchErrorList />
      <div class="cluster-column" inert={narrow.value && selected.value !== undefined}>
        <Zones />
        <TimeLine />
      </div>
      <Side />
    </main>
  );
}

/** The whole page. */
export function App() {
  return (
    <div class="page">
      <Header />
      <Body />
      <Notice />
      <p class="hidden" aria-live="polite">
        {spoken.value}
      </p>
      <Dialogs />
    </div>
  );
}
