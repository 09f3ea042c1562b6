import { useSignal } from '@preact/signals';
import type { HostOrder, MachineView, NodeSummary, WindowView } from '../../../src/scene.ts';
import { asking, mayAct, notify, now, open, selected, store } from '../../connection.ts';
import {
  announcedText,
  kindsOf,
  phaseOf,
  since,
  strategyOf,
  toneOf,
  until,
  windowText,
} from '../../model/words.ts';
import { announce } from '../../orders.ts';

function Facts({ machine }: { readonly machine: MachineView }) {
  return (
    <dl class="facts">
      <dt>machine</dt>
      <dd>{machine.machine}</dd>
      <dt>announced</dt>
      <dd>{since(machine.since, now.value)}</dd>
      {strategyOf(machine) !== '' && (
        <>
          <dt>strategy</dt>
          <dd>{strategyOf(machine)}</dd>
        </>
      )}
      {machine.begins !== undefined && (
        <>
          <dt>begins</dt>
          <dd>{until(machine.begins, now.value)}</dd>
        </>
      )}
      {machine.deadline !== undefined && (
        <>
          <dt>deadline</dt>
          <dd title={machine.deadline}>{until(machine.deadline, now.value)}</dd>
        </>
      )}
    </dl>
  );
}

function ApproveButton({ machine }: { readonly machine: MachineView }) {
  return (
    <button
      type="button"
      class="button"
      onClick={() => {
        asking.value = { kind: 'approve', node: machine.node ?? machine.machine, machine };
      }}
    >
      Approve<span class="hidden"> the maintenance of machine {machine.machine}</span>…
    </button>
  );
}

/** Events of a machine, Drydock's response, and its waits. */
export function MachineStory({ machine }: { readonly machine: MachineView }) {
  return (
    <div class="hold machine-story">
      <p class="reason">
        <span class={`chip ${toneOf(machine)}`}>{phaseOf(machine)}</span>
        {kindsOf(machine)}
      </p>
      {machine.announced.map(event => {
        const text = announcedText(event, now.value);
        return (
          <p key={text} class="message">
            {text}
            {event.description !== undefined && `: ${event.description}`}
          </p>
        );
      })}
      {machine.message !== '' && <p class="matter">{machine.message}</p>}
      <Facts machine={machine} />
      {mayAct.value && machine.phase === 'AwaitingApproval' && !machine.deleting && (
        <ApproveButton machine={machine} />
      )}
    </div>
  );
}

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
    notify(await announce({ node: node.key, what }));
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

/** Limit of cards; no user reads a longer list. */
const maxCards = 30;

/** Announced events of machines, and their progress. */
export function Announced() {
  const machines = store.machines.value.filter(
    ({ node }) => node === undefined || node !== selected.value,
  );
  if (machines.length === 0) return null;
  return (
    <section class="announced" aria-labelledby="announced-title">
      <h2 id="announced-title">Announced</h2>
      <ul class="cards">
        {machines.slice(0, maxCards).map(machine => {
          const { node } = machine;
          return (
            <li key={machine.key} class={`card ${toneOf(machine)}`}>
              <div class="card-head">
                <h3>
                  {node === undefined ? (
                    machine.machine
                  ) : (
                    <button type="button" class="link" onClick={() => open(node)}>
                      {node}
                    </button>
                  )}
                </h3>
              </div>
              <MachineStory machine={machine} />
            </li>
          );
        })}
      </ul>
      {machines.length > maxCards && <p class="quiet">and {machines.length - maxCards} more</p>}
    </section>
  );
}

function Window({ window }: { readonly window: WindowView }) {
  return (
    <li class={window.problem === undefined ? 'budget' : 'budget trouble'}>
      <div class="budget-head">
        <span class="budget-name">{window.key}</span>
      </div>
      <p class={window.problem === undefined ? 'quiet' : 'matter'}>
        {windowText(window, now.value)}
      </p>
    </li>
  );
}

/** Maintenance windows. */
export function Windows() {
  const windows = store.windows.value;
  if (windows.length === 0) return null;
  return (
    <section class="budgets windows" aria-labelledby="windows-title">
      <h2 id="windows-title">Maintenance windows</h2>
      <ul class="budget-list">
        {windows.slice(0, maxCards).map(window => (
          <Window key={window.key} window={window} />
        ))}
      </ul>
      {windows.length > maxCards && <p class="quiet">and {windows.length - maxCards} more</p>}
    </section>
  );
}
