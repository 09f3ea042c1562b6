import { store } from '../../page.ts';
import { PlanCard } from './plan-card.tsx';

/** Limit of cards; no user reads a longer list. */
const maxCards = 20;

/** The MaintenancePlans of the cluster. */
export function Plans() {
  const plans = store.plans.value;
  if (plans.length === 0) return null;
  return (
    <section class="plans" aria-labelledby="plans-title">
      <h2 id="plans-title">Plans</h2>
      <ul class="cards">
        {plans.slice(0, maxCards).map(plan => (
          <PlanCard key={plan.uid} plan={plan} />
        ))}
      </ul>
      {plans.length > maxCards && <p class="quiet">and {plans.length - maxCards} more</p>}
    </section>
  );
}
