import type { HoldView } from '../../../src/scene.ts';
import { vmWord } from '../../model/words.ts';

type Vm = NonNullable<HoldView['vms']>['items'][number];

function VmLine({ vm }: { readonly vm: Vm }) {
  return (
    <li class={`vm ${vm.state.toLowerCase()}`} title={vm.message ?? ''}>
      <span class="vm-name">{vm.name}</span>
      <span class="vm-word">{vmWord(vm)}</span>
      {vm.progress !== undefined && vm.state === 'Migrating' && (
        <progress max={100} value={vm.progress} aria-label={`${vm.name}: ${vm.progress} %`} />
      )}
    </li>
  );
}

/**
 * VMs of a drained node, each with its progress. Those that cannot migrate are among the blockers
 * as well.
 */
export function Vms({ hold }: { readonly hold: HoldView }) {
  return hold.vms === undefined ? null : (
    <details class="vms" open={hold.draining}>
      <summary>{hold.vms.summary}</summary>
      <ul>
        {hold.vms.items.map(vm => (
          <VmLine key={vm.id} vm={vm} />
        ))}
      </ul>
    </details>
  );
}
