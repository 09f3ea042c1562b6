import { useSignal, useSignalEffect } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { DrainPreview } from '../../../src/scene.ts';
import { asking, mayAct, notify, type OpenDialog, store } from '../../connection.ts';
import { approvalText, countsText, kindsOf, plural, strategyOf } from '../../model/words.ts';
import {
  approve,
  approvePlan,
  maintain,
  type OrderResult,
  outlook,
  release,
  steerPlan,
} from '../../orders.ts';
import { Blockers } from '../nodes/details.tsx';

type OrderFormProps = {
  /** Label of the button that sends the order; without one, there is no button. */
  readonly label: string | undefined;
  readonly send: () => Promise<OrderResult>;
  readonly shut: () => void;
  readonly children: ComponentChildren;
};

/** A form for one order: stays open, with the reason, when the order is refused. */
function OrderForm({ label, send, shut, children }: OrderFormProps) {
  const failure = useSignal<string | undefined>(undefined);
  const busy = useSignal(false);
  const submit = async (): Promise<void> => {
    busy.value = true;
    const result = await send();
    busy.value = false;
    failure.value = result.done ? undefined : result.message;
    if (!result.done) return;
    notify(result);
    shut();
  };
  return (
    <form
      onSubmit={event => {
        event.preventDefault();
        if (label !== undefined && !busy.value) void submit();
      }}
    >
      {children}
      {failure.value !== undefined && (
        <p class="failure" role="alert">
          {failure.value}
        </p>
      )}
      <div class="buttons">
        <button type="button" class="button" onClick={shut}>
          {label === undefined ? 'Close' : 'Cancel'}
        </button>
        {label !== undefined && (
          <button type="submit" class="button main" aria-disabled={busy.value}>
            {label}
          </button>
        )}
      </div>
    </form>
  );
}

type ApproveProps = {
  readonly asked: Extract<OpenDialog, { kind: 'approve' }>;
  readonly shut: () => void;
};

/** Form that confirms the approval of a machine maintenance. */
function ApproveForm({ asked: { machine }, shut }: ApproveProps) {
  return (
    <OrderForm label={`Approve ${machine.machine}`} send={() => approve(machine)} shut={shut}>
      <p>
        Drydock then responds to the announcement (<strong>{kindsOf(machine)}</strong>) of machine{' '}
        <strong>{machine.machine}</strong>, as soon as windows and limits allow it
        {strategyOf(machine) === '' ? '.' : `: ${strategyOf(machine)}.`} This cannot be undone once
        it has begun.
      </p>
    </OrderForm>
  );
}

/** Preview of a drain. */
function PreviewText({ found }: { readonly found: DrainPreview | string | undefined }) {
  if (found === undefined) return <p class="quiet">Checking…</p>;
  if (typeof found === 'string') return <p class="matter">{found}</p>;
  const stuck = found.blockers.filter(blocker => blocker.stuck);
  return (
    <>
      <p>
        {found.leave === 0
          ? 'No pod will be evicted'
          : plural(found.leave, 'pod will be evicted', 'pods will be evicted')}
        {found.stay > 0 && `, ${plural(found.stay, 'stays', 'stay')}`}.{' '}
        {stuck.length === 0
          ? 'Nothing blocks the drain.'
          : `${plural(stuck.length, 'pod blocks', 'pods block')} the drain:`}
      </p>
      <Blockers blockers={stuck} />
    </>
  );
}

type Choice = {
  readonly label: string;
  readonly hint: string;
  readonly checked: boolean;
  readonly choose: (checked: boolean) => void;
};

function Check({ label, hint, checked, choose }: Choice) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        onChange={event => choose(event.currentTarget.checked)}
      />
      <span>
        {label}
        <span class="quiet">{hint}</span>
      </span>
    </label>
  );
}

/** Returns the signals of the form, with the preview, which follows the choices. */
function useOrder(node: string) {
  const reason = useSignal('');
  const force = useSignal(false);
  const deleteEmptyDirData = useSignal(false);
  const found = useSignal<DrainPreview | string | undefined>(undefined);
  const asked = useSignal(0);
  useSignalEffect(() => {
    const choice = { node, force: force.value, deleteEmptyDirData: deleteEmptyDirData.value };
    const turn = asked.peek() + 1;
    asked.value = turn;
    void outlook(choice).then(answer => {
      // A response to choices that have changed since is ignored.
      if (asked.peek() === turn) found.value = answer;
    });
  });
  return { reason, force, deleteEmptyDirData, found };
}

function Choices({ order }: { readonly order: ReturnType<typeof useOrder> }) {
  return (
    <fieldset>
      <legend>What may be evicted</legend>
      <Check
        label="Evict pods that nothing recreates"
        hint="pods without a controller are not recreated (force)"
        checked={order.force.value}
        choose={checked => {
          order.force.value = checked;
        }}
      />
      <Check
        label="Evict pods with local data"
        hint="the data in their emptyDir volumes is lost (deleteEmptyDirData)"
        checked={order.deleteEmptyDirData.value}
        choose={checked => {
          order.deleteEmptyDirData.value = checked;
        }}
      />
    </fieldset>
  );
}

type MaintainProps = { readonly node: string; readonly shut: () => void };

function Reason({ order }: { readonly order: ReturnType<typeof useOrder> }) {
  return (
    <label class="field">
      <span>Reason, shown to others</span>
      <input
        type="text"
        maxLength={1024}
        placeholder="for example: new disk"
        value={order.reason.value}
        onInput={event => {
          order.reason.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}

/** Form that takes a node out of service, with a preview. */
function MaintainForm({ node, shut }: MaintainProps) {
  const order = useOrder(node);
  const send = (): Promise<OrderResult> =>
    maintain({
      node,
      reason: order.reason.value,
      force: order.force.value,
      deleteEmptyDirData: order.deleteEmptyDirData.value,
    });
  return (
    <OrderForm label={mayAct.value ? 'Start maintenance' : undefined} send={send} shut={shut}>
      {mayAct.value && <Reason order={order} />}
      <Choices order={order} />
      {store.facts.value?.makes === 'NodeMaintenance' && (
        <p class="quiet">This cluster serves only NodeMaintenance, which requires both.</p>
      )}
      <div class="prospect" aria-live="polite">
        <PreviewText found={order.found.value} />
      </div>
    </OrderForm>
  );
}

type PlanProps<Kind extends OpenDialog['kind']> = {
  readonly asked: Extract<OpenDialog, { kind: Kind }>;
  readonly shut: () => void;
};

function AtOnce({ many }: { readonly many: number | undefined }) {
  return <>{many !== undefined && many > 0 && `, up to ${many} at once`}</>;
}

/** Form that confirms the resumption of a plan. */
function ResumeForm({ asked: { plan }, shut }: PlanProps<'resume-plan'>) {
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
function ApprovePlanForm({ asked: { plan, approval }, shut }: PlanProps<'approve-plan'>) {
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

type ReleaseProps = {
  readonly asked: Extract<OpenDialog, { kind: 'release' }>;
  readonly shut: () => void;
};

/** Form that confirms the release of a node. */
function ReleaseForm({ asked: { node, hold }, shut }: ReleaseProps) {
  const others = (store.node(node).value?.holds.length ?? 0) - 1;
  return (
    <OrderForm label={`Release ${node}`} send={() => release(hold)} shut={shut}>
      <p>
        This ends {hold.kind} <strong>{hold.name}</strong>
        {hold.reason !== undefined && ` (“${hold.reason}”)`}.{' '}
        {others > 0
          ? 'Others still hold the node: it stays out of service.'
          : 'The node returns to its earlier state, and pods can be scheduled on it again.'}
      </p>
      {hold.plan !== undefined && (
        <p>
          The node is part of plan <strong>{hold.plan}</strong>: a node that the plan has not
          finished with counts as failed.
        </p>
      )}
    </OrderForm>
  );
}

function shut(): void {
  asking.value = undefined;
}

function Modal({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const { current } = dialog;
    const opener = document.activeElement;
    current?.showModal();
    return () => {
      current?.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={shut}>
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  );
}

/** Returns title and form of a dialog. */
function questionOf(asked: OpenDialog): readonly [title: string, form: ComponentChildren] {
  switch (asked.kind) {
    case 'maintain':
      return [
        `Take ${asked.node} out of service`,
        <MaintainForm key={asked.node} node={asked.node} shut={shut} />,
      ];
    case 'release':
      return [`Release ${asked.node}`, <ReleaseForm key={asked.node} asked={asked} shut={shut} />];
    case 'approve':
      return [
        `Approve the maintenance of ${asked.node}`,
        <ApproveForm key={asked.node} asked={asked} shut={shut} />,
      ];
    case 'resume-plan':
      return [
        `Resume plan ${asked.plan.key}`,
        <ResumeForm key={asked.plan.uid} asked={asked} shut={shut} />,
      ];
    case 'approve-plan':
      return [
        `Approve ${approvalText(asked.approval)} of plan ${asked.plan.key}`,
        <ApprovePlanForm key={asked.plan.uid} asked={asked} shut={shut} />,
      ];
    default:
      return asked satisfies never;
  }
}

/** The open dialog, if any. */
export function Dialogs() {
  const { value } = asking;
  if (value === undefined) return null;
  const [title, form] = questionOf(value);
  return (
    <Modal key={title} title={title}>
      {form}
    </Modal>
  );
}
