import type { MachineView } from '../../../src/scene.ts';
import { announcedText, kindsOf, phaseOf, strategyOf, toneOf } from '../../model/machine-words.ts';
import { since, until } from '../../model/words.ts';
import { asking, mayAct, now } from '../../page.ts';

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
