import type { PlanSummary } from '../../../src/scene.ts';
import {
  chartOf,
  chartSize,
  chartText,
  forecastTexts,
  type RolloutChart,
  type TimeWords,
  timeWords,
} from '../../model/rollout.ts';
import { now } from '../../page.ts';
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
export function Rollout({ plan }: { readonly plan: PlanSummary }) {
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
