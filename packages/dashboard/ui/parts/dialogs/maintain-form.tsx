import { useSignal, useSignalEffect } from '@preact/signals';
import type { DrainPreview } from '../../../src/scene.ts';
import { plural } from '../../model/words.ts';
import { maintain, type OrderResult, outlook } from '../../orders.ts';
import { mayAct, store } from '../../page.ts';
import { Blockers } from '../nodes/hold-card.tsx';
import { OrderForm } from './order-form.tsx';

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

type Form = { readonly node: string; readonly shut: () => void };

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
export function MaintainForm({ node, shut }: Form) {
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
