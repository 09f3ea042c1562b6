import { useLayoutEffect, useRef } from 'preact/hooks';
import type { NodeSummary, PodView } from '../../../src/scene.ts';
import { isControlPlane, nameOf, nodeBadge, plural, podWords } from '../../model/words.ts';
import { asking, close, mayAct, selected, store } from '../../page.ts';
import { HostOrders } from '../machines/host-orders.tsx';
import { MachineStory } from '../machines/machine-card.tsx';
import { Hold } from './hold-card.tsx';
import { blockedOn } from './node-box.tsx';

/** Limit of listed pods; no user reads more. */
const maxPods = 120;

function PodRow({ pod, isBlocked }: { readonly pod: PodView; readonly isBlocked: boolean }) {
  return (
    <tr class={isBlocked ? 'blocked' : pod.phase}>
      <td>
        <span class="pod-name">{nameOf(pod.key)}</span>
        <span class="quiet">
          {pod.key.slice(0, pod.key.indexOf('/'))}, {pod.kind}
          {pod.localData && ', keeps data on this node'}
        </span>
      </td>
      <td>
        {isBlocked && pod.phase !== 'leaving' ? podWords.blocked : podWords[pod.phase]}
        {pod.stays && <span class="quiet">stays</span>}
      </td>
    </tr>
  );
}

function PodList({ node }: { readonly node: NodeSummary }) {
  const pods = store.pods.on(node.key).value;
  const blocked = blockedOn(node);
  if (pods.length === 0) return <p class="quiet">No pods.</p>;
  return (
    <table class="pod-list">
      <caption>{plural(pods.length, 'pod')}</caption>
      <thead class="hidden">
        <tr>
          <th scope="col">Pod</th>
          <th scope="col">State</th>
        </tr>
      </thead>
      <tbody>
        {pods.slice(0, maxPods).map(pod => (
          <PodRow key={pod.uid} pod={pod} isBlocked={blocked.has(pod.key)} />
        ))}
      </tbody>
      {pods.length > maxPods && (
        <tfoot>
          <tr>
            <td colSpan={2}>and {pods.length - maxPods} more</td>
          </tr>
        </tfoot>
      )}
    </table>
  );
}

function About({ node }: { readonly node: NodeSummary }) {
  return (
    <dl class="facts">
      <dt>zone</dt>
      <dd>{node.zone === '' ? 'none' : node.zone}</dd>
      <dt>roles</dt>
      <dd>{node.roles.length === 0 ? 'none' : node.roles.join(', ')}</dd>
      <dt>ready</dt>
      <dd>{node.ready}</dd>
      {node.instance !== undefined && (
        <>
          <dt>host</dt>
          <dd>{node.instance}</dd>
        </>
      )}
      <dt>scheduling</dt>
      <dd>{node.cordoned ? 'cordoned: no new pods' : 'accepts new pods'}</dd>
      {node.taints.length > 0 && (
        <>
          <dt>taints</dt>
          <dd>{node.taints.join(', ')}</dd>
        </>
      )}
    </dl>
  );
}

function Order({ node }: { readonly node: NodeSummary }) {
  if (node.missing === true || node.holds.length > 0) return null;
  return (
    <button
      type="button"
      class="button main"
      onClick={() => {
        asking.value = { kind: 'maintain', node: node.key };
      }}
    >
      {mayAct.value ? `Maintain ${node.key}…` : 'Preview a drain…'}
    </button>
  );
}

function NodeDetails({ node }: { readonly node: NodeSummary }) {
  return (
    <>
      {isControlPlane(node) && <p class="quiet">This node is part of the control plane.</p>}
      {node.holds.map(hold => (
        <Hold
          key={`${hold.store} ${hold.namespace ?? ''} ${hold.name}`}
          hold={hold}
          node={node.key}
        />
      ))}
      <Order node={node} />
      <HostOrders node={node} />
      {!node.missing && <About node={node} />}
      <PodList node={node} />
    </>
  );
}

/** Details of the chosen node. */
export function Details() {
  const name = selected.value;
  const heading = useRef<HTMLHeadingElement>(null);
  // Focused at once: keyboard users continue from here.
  useLayoutEffect(() => heading.current?.focus(), [name]);
  if (name === undefined) return null;
  const node = store.node(name).value;
  const { tone, word } = node === undefined ? { tone: 'unready', word: 'Gone' } : nodeBadge(node);
  return (
    <section class={`details ${tone}`} aria-labelledby="details-title">
      <div class="card-head">
        <h2 id="details-title" ref={heading} tabIndex={-1}>
          {name}
        </h2>
        <span class={`chip ${tone}`}>{word}</span>
        <button type="button" class="close" aria-label="Close the details" onClick={close}>
          ×
        </button>
      </div>
      {store.machinesOn(name).value.map(machine => (
        <MachineStory key={machine.key} machine={machine} />
      ))}
      {node === undefined ? (
        <p class="quiet">This node is no longer in the cluster.</p>
      ) : (
        <NodeDetails node={node} />
      )}
    </section>
  );
}
