import { approvalText, countsText } from '../../model/plan-words.ts';
import { plural } from '../../model/words.ts';
import { approvePlan, steerPlan } from '../../orders.ts';
import type { OpenDialog } from '../../page.ts';
import { OrderForm } from './order-form.tsx';

type Form<Kind extends OpenDialog['kind']> = {
  readonly asked: Extract<OpenDialog, { kind: Kind }>;
  readonly shut: () => void;
};

function AtOnce({ many }: { readonly many: number | undefined }) {
  return <>{many !== undefined && many > 0 && `, up to ${many} at once`}</>;
}

/** Form that confirms the resumption of a plan. */
export function ResumeForm({ asked: { plan }, shut }: Form<'resume-plan'>) {
  return (
    <OrderForm
      label={`Resume ${plan.key}`}
      send={() => steerPlan({ plan: plan.key, uid: plan.uid, what: 'resume' })}
      shut={shut}
    >
      <p>
        Plan <strong>{plan.key}</strong> ({countsText(plan)}) then takes nodes out of service and
        works on them
        <AtOnce many={plan.atOnce} />.
      </p>
      {plan.stages.length > 0 && (
        <p class="quiet">
          {plan.stages
            .map(({ name, selected }) => `${name}: ${plural(selected, 'node')}`)
            .join(', then ')}
          .
        </p>
      )}
    </OrderForm>
  );
}

/** Form that confirms the approval of a plan. */
export function ApprovePlanForm({ asked: { plan, approval }, shut }: Form<'approve-plan'>) {
  return (
    <OrderForm
      label={`Approve ${approvalText(approval)}`}
      send={() => approvePlan({ plan: plan.key, uid: plan.uid, ...approval })}
      shut={shut}
    >
      <p>
        Plan <strong>{plan.key}</strong> ({countsText(plan)}) then continues with{' '}
        <strong>{approvalText(approval)}</strong>
        <AtOnce many={plan.atOnce} />. An approval cannot be withdrawn once nodes have started.
      </p>
    </OrderForm>
  );
}
