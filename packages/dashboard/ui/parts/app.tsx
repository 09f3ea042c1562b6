import { computed } from '@preact/signals';
import type { BudgetView, WorkloadView } from '../../src/scene.ts';
import { follower, mayAct, narrow, notice, now, selected, store } from '../connection.ts';
import { nameOf, nodeBadge, plural, since } from '../model/words.ts';
import { Dialogs } from './dialogs/dialogs.tsx';
import { Announced, Windows } from './machines/machine-card.tsx';
import { Details, HoldCard } from './nodes/details.tsx';
import { Zones } from './nodes/fleet.tsx';
import { Plans } from './plans/plans.tsx';

type Line = {
  readonly key: string;
  readonly at: string;
  readonly about: string;
  readonly what: string;
  readonly text: string;
  readonly warning: boolean;
};

const maxLines = 80;

/** Events of the cluster and changes that this page has seen, newest first. */
const lines = computed((): readonly Line[] => {
  const events = store.moments.value.map(({ key, at, about, reason, message, warning, count }) => ({
    key,
    at,
    about,
    what: reason,
    text: count > 1 ? `${message} (${count} times)` : message,
    warning,
  }));
  const hasEvents = store.facts.value?.unreadable.every(({ what }) => what !== 'events') ?? false;
  const news = store.news.value.filter(({ recorded }) => !(recorded && hasEvents));
  const seen = news.map(({ key, at, about, text, warning }) => ({
    key,
    at,
    about,
    what: '',
    text,
    warning,
  }));
  return [...events, ...seen]
    .sort((one, other) => Date.parse(other.at) - Date.parse(one.at))
    .slice(0, maxLines);
});

const timeFormat = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

function timeOf(at: string): string {
  const ms = Date.parse(at);
  return Number.isNaN(ms) ? '' : timeFormat.format(ms);
}

/** Time line of objects, events and times. */
function TimeLine() {
  return (
    <section class="time-line" aria-labelledby="time-line-title">
      <h2 id="time-line-title">Time line</h2>
      {lines.value.length === 0 && <p class="quiet">Nothing has happened yet.</p>}
      <ol
        class="moments"
        tabIndex={lines.value.length > 0 ? 0 : undefined}
        aria-labelledby="time-line-title"
      >
        {lines.value.map(({ key, at, about, what, text, warning }) => (
          <li key={key} class={warning ? 'moment warning' : 'moment'}>
            <time dateTime={at} title={at}>
              {timeOf(at)}
            </time>
            <span class="about">{about}</span>
            <span class="text">
              {warning && <span class="hidden">Warning: </span>}
              {what !== '' && <span class="what">{what}</span>} {text}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

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
function Header() {
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
function WatchErrorList() {
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
function Lows() {
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

/** Limit of cards; no user reads a longer list, and the nodes above are complete. */
const maxCards = 40;

const hint = computed(() => (mayAct.value ? ' Choose one to take it out.' : ''));

function Held() {
  const held = store.held.value.filter(({ key }) => key !== selected.value);
  return (
    <section class="held" aria-labelledby="held-title">
      <h2 id="held-title">Out of service</h2>
      {held.length === 0 && (
        <p class="quiet">
          {store.held.value.length === 0
            ? `Every node is in service.${hint.value}`
            : 'No other node.'}
        </p>
      )}
      <ul class="cards">
        {held.slice(0, maxCards).map(node => (
          <HoldCard key={node.key} node={node} />
        ))}
      </ul>
      {held.length > maxCards && <p class="quiet">and {held.length - maxCards} more</p>}
    </section>
  );
}

function Budget({ budget }: { readonly budget: BudgetView }) {
  return (
    <li class={budget.trouble === undefined ? 'budget' : 'budget trouble'}>
      <div class="budget-head">
        <span class="budget-name">{nameOf(budget.key)}</span>
        <span class="budget-allowed">
          {budget.allowed === 0
            ? 'no eviction allowed'
            : plural(budget.allowed, 'eviction allowed', 'evictions allowed')}
        </span>
      </div>
      <p class="quiet">
        {budget.healthy} of {plural(budget.pods, 'pod')} healthy, needs {budget.desired}
      </p>
      {budget.trouble !== undefined && (
        <>
          <p class="matter">{budget.trouble.message}</p>
          {budget.trouble.remedy !== undefined && (
            <p class="remedy">
              <span>How to fix:</span> {budget.trouble.remedy}
            </p>
          )}
        </>
      )}
    </li>
  );
}

/** Limit of budgets; no user reads a longer list, and those in trouble come first. */
const maxBudgets = 30;

function Budgets() {
  const budgets = store.budgets.value.toSorted(
    (one, other) => Number(one.trouble === undefined) - Number(other.trouble === undefined),
  );
  if (budgets.length === 0) return null;
  return (
    <section class="budgets" aria-labelledby="budgets-title">
      <h2 id="budgets-title">Disruption budgets</h2>
      <ul class="budget-list">
        {budgets.slice(0, maxBudgets).map(budget => (
          <Budget key={budget.key} budget={budget} />
        ))}
      </ul>
      {budgets.length > maxBudgets && <p class="quiet">and {budgets.length - maxBudgets} more</p>}
    </section>
  );
}

/** The second column. */
function Side() {
  return (
    <div class="side">
      <Details />
      <Announced />
      <Plans />
      <Held />
      <Windows />
      <Lows />
      <Budgets />
    </div>
  );
}

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
