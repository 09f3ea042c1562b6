import { useSignal } from '@preact/signals';
import type { PlanNodeView, PlanOrder, PlanStageView, PlanSummary } from '../../../src/scene.ts';
import { asking, mayAct, notify, now, store } from '../../connection.ts';
import {
  chartOf,
  chartSize,
  chartText,
  forecastTexts,
  type RolloutChart,
  type TimeWords,
  timeWords,
} from '../../model/rollout.ts';
import {
  approvalText,
  countsText,
  failureText,
  messageOf,
  nodeStateText,
  planBadge,
  plural,
  progressOf,
  since,
  stageText,
  switchOf,
  waitText,
} from '../../model/words.ts';
import { steerPlan } from '../../orders.ts';
import { NodeName } from '../nodes/node-name.tsx';

function Mark({ at, kind }: { readonly at: number | undefined; readonly kind: string }) {
  return at === undefined ? null : (
    <line class={kind} x1={at} x2={at} y1={0} y2={chartSize.height} />
  );
}

function Chart({
  plan,
  drawn,
  when,
}: {
  readonly plan: PlanSummary;
  readonly drawn: RolloutChart;
  readonly when: TimeWords;
}) {
  return (
    <div class="rollout-chart">
      <svg
        viewBox={`0 -3 ${chartSize.width} ${chartSize.height + 6}`}
        role="img"
        aria-label={chartText(plan, when, drawn)}
      >
        {drawn.likely !== undefined && <polygon class="likely" points={drawn.likely} />}
        <line class="all" x1={0} x2={chartSize.width} y1={0} y2={0} />
        <line
          class="none"
          x1={0}
          x2={chartSize.width}
          y1={chartSize.height}
          y2={chartSize.height}
        />
        <Mark at={drawn.deadline} kind="deadline" />
        <Mark at={drawn.firstEnd} kind="first-end" />
        <Mark at={drawn.now} kind="now" />
        {drawn.foretold !== undefined && <polyline class="foretold" points={drawn.foretold} />}
        {drawn.unseen !== undefined && <polyline class="unseen" points={drawn.unseen} />}
        <polyline class="seen" points={drawn.seen} />
      </svg>
      <p class="rollout-times" aria-hidden="true">
        <span>{when(drawn.from)}</span>
        <span>{when(drawn.to)}</span>
      </p>
      <ul class="rollout-legend" aria-hidden="true">
        <li class="seen">done</li>
        {drawn.foretold !== undefined && <li class="foretold">forecast</li>}
        {drawn.firstEnd !== undefined && <li class="first-end">first forecast</li>}
        {drawn.deadline !== undefined && <li class="deadline">deadline</li>}
      </ul>
    </div>
  );
}

function Stuck({ plan }: { readonly plan: PlanSummary }) {
  const { blocked = [], blockedNodes = 0 } = plan.forecast ?? {};
  if (blocked.length === 0 || plan.phase === 'Complete') return null;
  return (
    <div class="plan-part">
      <h4>Will get stuck</h4>
      <ul class="blockers">
        {blocked.map(({ node, message }) => (
          <li key={node}>
            <p class="matter">
              <NodeName name={node} /> {message}
            </p>
          </li>
        ))}
      </ul>
      {blockedNodes > blocked.length && (
        <p class="quiet">and {blockedNodes - blocked.length} more</p>
      )}
    </div>
  );
}

/** Progress of a plan's run, with its forecast. */
function Rollout({ plan }: { readonly plan: PlanSummary }) {
  const drawn = chartOf(plan, now.value);
  const when = timeWords(now.value);
  return (
    <>
      {drawn !== undefined && <Chart plan={plan} drawn={drawn} when={when} />}
      {forecastTexts(plan, when).map(text => (
        <p key={text} class="quiet rollout-words">
          {text}
        </p>
      ))}
      <Stuck plan={plan} />
    </>
  );
}

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
    notify(await steerPlan({ plan: plan.key, uid: plan.uid, what: 'pause' }));
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
function PlanCard({ plan }: { readonly plan: PlanSummary }) {
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
