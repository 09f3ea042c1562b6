import type { HoldView, NodeSummary } from '../../src/scene.ts';

/** A node in service as the page is told of it, for tests. */
export function makeNode(key: string, over: Partial<NodeSummary> = {}): NodeSummary {
  return {
    key,
    zone: 'north',
    pool: 'blue',
    roles: [],
    ready: 'yes',
    cordoned: false,
    taints: [],
    holds: [],
    ...over,
  };
}

/** A maintenance that drains a node. */
export function makeHold(over: Partial<HoldView> = {}): HoldView {
  return {
    store: 'maintenances.drydock.dev',
    kind: 'Maintenance',
    name: 'w1',
    phase: 'Draining',
    level: 'Drain',
    since: '2026-01-01T00:00:00Z',
    toEvict: 2,
    gone: 0,
    message: '',
    draining: true,
    drained: false,
    failed: false,
    deleting: false,
    blockers: [],
    ...over,
  };
}
