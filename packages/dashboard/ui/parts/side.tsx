import { computed } from '@preact/signals';
import type { BudgetView } from '../../src/scene.ts';
import { nameOf, plural } from '../model/words.ts';
import { mayAct, selected, store } from '../page.ts';
import { Lows } from './lows.tsx';
import { Announced, Windows } from './machines/announced.tsx';
import { Details } from './nodes/details.tsx';
import { HoldCard } from './nodes/hold-card.tsx';
import { Plans } from './plans/plans.tsx';

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
export function Side() {
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
