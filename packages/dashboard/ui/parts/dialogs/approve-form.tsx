import { kindsOf, strategyOf } from '../../model/machine-words.ts';
import { approve } from '../../orders.ts';
import type { OpenDialog } from '../../page.ts';
import { OrderForm } from './order-form.tsx';

type Form = { readonly asked: Extract<OpenDialog, { kind: 'approve' }>; readonly shut: () => void };

/** Form that confirms the approval of a machine maintenance. */
export function ApproveForm({ asked: { machine }, shut }: Form) {
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
