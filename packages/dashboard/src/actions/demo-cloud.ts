import { isObject } from '@drydock/apimachinery';
import type { HostOrder } from '../scene.ts';
import { type ActionResult, reply } from './maintenances.ts';

/** A simulated cloud that accepts orders: only a demonstration has one. */
export interface DemoCloud {
  /**
   * Announces an event for the machine of the node. Returns a string with the reason when it
   * cannot.
   */
  announce(node: string, what: HostOrder['what']): string | undefined;
}

const words: Readonly<Record<HostOrder['what'], string>> = {
  retirement: 'will be retired',
  reboot: 'will be rebooted',
};

/** Parses an order from JSON; returns a string with the error. */
function readHostOrder(raw: unknown): HostOrder | string {
  if (!isObject(raw))
    return 'the body must be an object such as {"node": "worker-1", "what": "retirement"}';
  const { node, what } = raw;
  if (typeof node !== 'string' || node === '')
    return 'node is missing: name the node whose host to announce';
  if (what !== 'retirement' && what !== 'reboot') return 'what must be retirement or reboot';
  return { node, what };
}

/** Has the simulated cloud announce an event. */
export function announce(hosts: DemoCloud | undefined, value: unknown): ActionResult {
  if (hosts === undefined)
    return reply(
      404,
      'the machines of this cluster are not simulated: nothing can be announced here',
    );
  const order = readHostOrder(value);
  if (typeof order === 'string') return reply(400, order);
  const problem = hosts.announce(order.node, order.what);
  return problem === undefined
    ? reply(201, `the cloud announces: the host of ${order.node} ${words[order.what]}`)
    : reply(409, problem);
}
