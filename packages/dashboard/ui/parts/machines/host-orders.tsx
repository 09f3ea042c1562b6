import { useSignal } from '@preact/signals';
import type { HostOrder, NodeSummary } from '../../../src/scene.ts';
import { announce } from '../../orders.ts';
import { mayAct, say, store } from '../../page.ts';

const orders: readonly { readonly what: HostOrder['what']; readonly label: string }[] = [
  { what: 'retirement', label: 'Retire this host' },
  { what: 'reboot', label: 'Reboot this host' },
];

/** Orders for a simulated cloud about the machine of a node; empty for real clusters. */
export function HostOrders({ node }: { readonly node: NodeSummary }) {
  const busy = useSignal(false);
  if (
    store.facts.value?.simulated !== true ||
    !mayAct.value ||
    node.instance === undefined ||
    node.missing
  )
    return null;
  if (store.machinesOn(node.key).value.length > 0) return null;
  const send = async (what: HostOrder['what']): Promise<void> => {
    busy.value = true;
    say(await announce({ node: node.key, what }));
    busy.value = false;
    // The buttons disappear once an event is announced: keyboard users continue from the top of the
    // details.
    document.getElementById('details-title')?.focus();
  };
  return (
    <div class="host-orders" role="group" aria-labelledby="host-orders-title">
      <p class="quiet" id="host-orders-title">
        The cloud of this demo is simulated. Announce an event:
      </p>
      {orders.map(({ what, label }) => (
        <button
          key={what}
          type="button"
          class="button"
          aria-disabled={busy.value}
          onClick={() => {
            if (!busy.value) void send(what);
          }}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
