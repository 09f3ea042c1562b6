import { effect } from '@preact/signals';
import { podsOf } from './orders.ts';
import { condensed, selected, store } from './page.ts';

/** Minimum time between two requests of a node's pods, in milliseconds. */
const pauseMs = 1000;

/** Requests the pods of the open node where pods are counted: now, and after every change. */
export function followNodePods(): void {
  let asked: string | undefined;
  let timer = 0;
  let next = 0;
  const ask = async (node: string): Promise<void> => {
    next = Date.now() + pauseMs;
    const pods = await podsOf(node);
    if (asked === node && pods !== undefined) store.pods.show(node, pods);
  };
  const stop = (): void => {
    clearTimeout(timer);
    if (asked !== undefined) store.pods.show(asked, []);
    asked = undefined;
  };
  effect(() => {
    const node = condensed.value ? selected.value : undefined;
    if (node !== asked) stop();
    if (node === undefined) return;
    // Read so that this effect runs again when they change.
    void [store.pods.countsOn(node).value, store.node(node).value];
    const isNew = asked === undefined;
    asked = node;
    clearTimeout(timer);
    if (isNew) void ask(node);
    else timer = setTimeout(() => void ask(node), Math.max(0, next - Date.now()));
  });
}
