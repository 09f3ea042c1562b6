import { useSignal } from '@preact/signals';
import type { PlanNodeView, PlanOrder, PlanStageView, PlanSummary } from '../../../src/scene.ts';
import {
  approvalText,
  countsText,
  failureText,
  messageOf,
  nodeStateText,
  planBadge,
  progressOf,
  stageText,
  switchOf,
  waitText,
} from '../../model/plan-words.ts';
import { plural, since } from '../../model/words.ts';
import { steerPlan } from '../../orders.ts';
import { asking, mayAct, now, say } from '../../page.ts';
import { NodeName } from '../nodes/node-name.tsx';
import { Rollout } from './rollout.tsx';

function Progress({ plan }: { readonly plan: PlanSummary }) {
  const { done, all } = progressOf(plan);
  return (
    <div class="progress">
      <progress
        max={Math.max(all, 1)}
        value={done}
        aria-label={`${plan.key}: ${done} of ${plural(all, 'node')} done`}
      />
      <span>
        {done} of {all} done
      </span>
    </div>
  );
}

function Stage({ stage }: { readonly stage: PlanStageView }) {
  return (
    <li class={`plan-stage ${stage.phase.toLowerCase()}`}>
      <span class="plan-stage-name">{stage.name}</span>
      <span class="quiet">{stageText(stage)}</span>
    </li>
  );
}

/** Stages of a plan; hidden once it is complete. */
function Stages({ plan }: { readonly plan: PlanSummary }) {
  return plan.stages.length === 0 || plan.phase === 'Complete' ? null : (
    <ol class="plan-stages" aria-label={`Stages of plan ${plan.key}`}>
      {plan.stages.map(stage => (
        <Stage key={stage.name} stage={stage} />
      ))}
    </ol>
  );
}

function Flying({ one }: { readonly one: PlanNodeView }) {
  return (
    <li class={one.state.toLowerCase()}>
      <p class="plan-node">
        <NodeName name={one.node} /> <span>{nodeStateText(one, now.value)}</span>
      </p>
      {one.wait !== undefined && <p class="whats">{waitText(one.wait, now.value)}</p>}
    </li>
  );
}

/** Nodes in flight, each with its progress and waits. */
function InFlight({ plan }: { readonly plan: PlanSummary }) {
  const { inFlight, counts } = plan;
  if (inFlight.length === 0) return null;
  const more = (counts?.inFlight ?? 0) - inFlight.length;
  return (
    <div class="plan-part">
      <h4>In flight</h4>
      <ul class="plan-nodes">
        {inFlight.map(one => (
          <Flying key={one.node} one={one} />
        ))}
      </ul>
      {more > 0 && <p class="quiet">and {more} more</p>}
    </div>
  );
}

function Waiting({ plan }: { readonly plan: PlanSummary }) {
  return plan.waiting.length === 0 ? null : (
    <div class="plan-part">
      <h4>Waiting for</h4>
      <ul class="blockers">
        {plan.waiting.map(wait => (
          <li key={`${wait.reason} ${wait.node ?? ''}`} class="passing">
            <p class="matter">
              <strong>{wait.reason}:</strong> {waitText(wait, now.value)}
            </p>
            {wait.node !== undefined && (
              <p class="whats">
                <NodeName name={wait.node} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Failures({ plan }: { readonly plan: PlanSummary }) {
  const { failures, counts } = plan;
  if (failures.length === 0) return null;
  const more = (counts?.failed ?? 0) - failures.length;
  return (
    <div class="plan-part">
      <h4>Failed</h4>
      <ul class="blockers">
        {failures.map(failure => (
          <li key={`${failure.node} ${failure.at}`}>
            <p class="matter">
              <NodeName name={failure.node} /> {failureText(failure)}
            </p>
            <p class="whats">
              stage {failure.stage}
              {failure.at !== '' && `, ${since(failure.at, now.value)} ago`}
            </p>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="quiet">and {more} more</p>}
    </div>
  );
}

/**
 * Button that pauses at once, which is harmless, and resumes after a confirmation. A single button,
 * so that the focus stays.
 */
function Switch({ plan, what }: { readonly plan: PlanSummary; readonly what: PlanOrder['what'] }) {
  const busy = useSignal(false);
  const pause = async (): Promise<void> => {
    busy.value = true;
    say(await steerPlan({ plan: plan.key, uid: plan.uid, what: 'pause' }));
    busy.value = false;
  };
  const act = (): void => {
    if (what === 'resume') asking.value = { kind: 'resume-plan', plan };
    else if (!busy.value) void pause();
  };
  return (
    <button type="button" class="button" aria-disabled={busy.value} onClick={act}>
      {what === 'resume' ? 'Resume' : 'Pause'}
      <span class="hidden"> plan {plan.key}</span>
      {what === 'resume' && '…'}
    </button>
  );
}

function Orders({ plan }: { readonly plan: PlanSummary }) {
  const { approval } = plan;
  const can = switchOf(plan);
  if (!mayAct.value || (approval === undefined && can === undefined)) return null;
  return (
    <div class="plan-orders">
      {approval !== undefined && (
        <button
          type="button"
          class="button main"
          onClick={() => {
            asking.value = { kind: 'approve-plan', plan, approval };
          }}
        >
          Approve<span class="hidden"> {`${approvalText(approval)} of plan ${plan.key}`}</span>…
        </button>
      )}
      {can !== undefined && <Switch plan={plan} what={can} />}
    </div>
  );
}

/** A plan: its progress, nodes in flight, waits, failures, and actions. */
export function PlanCard({ plan }: { readonly plan: PlanSummary }) {
  const { tone, word } = planBadge(plan);
  const message = messageOf(plan);
  return (
    <li class={`card plan ${tone}`} data-plan={plan.key}>
      <div class="card-head">
        <h3>{plan.key}</h3>
        <span class={`chip ${tone}`}>{word}</span>
      </div>
      {message !== '' && <p class="message">{message}</p>}
      {plan.stages.length > 0 && <Progress plan={plan} />}
      <p class="plan-counts">{countsText(plan)}</p>
      <Rollout plan={plan} />
      <Stages plan={plan} />
      <InFlight plan={plan} />
      <Waiting plan={plan} />
      <Failures plan={plan} />
      <Orders plan={plan} />
    </li>
  );
}
