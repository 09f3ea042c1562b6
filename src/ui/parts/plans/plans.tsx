import { store } from '../../page.ts';
import { PlanCard } from './plan-card.tsx';

/** More cards are no list that anybody reads. */
const mostCards = 20;

/** The plans that take many nodes through. */
export const Plans = () => {
  const plans = store.plans.value;
  if (plans.length === 0) return null;
  return (
    <section class="plans" aria-labelledby="plans-title">
      <h2 id="plans-title">Plans</h2>
      <ul class="cards">
        {plans.slice(0, mostCards).map(plan => (
          <PlanCard key={plan.uid} plan={plan} />
        ))}
      </ul>
      {plans.length > mostCards && <p class="quiet">and {plans.length - mostCards} more</p>}
    </section>
  );
};
