import { release } from '../../orders.ts';
import { type OpenDialog, store } from '../../page.ts';
import { OrderForm } from './order-form.tsx';

type Form = { readonly asked: Extract<OpenDialog, { kind: 'release' }>; readonly shut: () => void };

/** Form that confirms the release of a node. */
export function ReleaseForm({ asked: { node, hold }, shut }: Form) {
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
