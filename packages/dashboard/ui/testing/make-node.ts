import type { HoldView, NodeSummary } from '../../src/scene.ts';

/** A node in service as the page is told of it, for tests. */
export const makeNode = (key: string, over: Partial<NodeSummary> = {}): NodeSummary => ({
  key,
  zone: 'north',
  pool: 'blue',
  roles: [],
  ready: 'yes',
  cordoned: false,
  taints: [],
  holds: [],
  ...over,
});

/** A maintenance that drains a node. */
export const makeHold = (over: Partial<HoldView> = {}): HoldView => ({
  store: 'maintenances.drydock.dev',
  kind: 'Maintenance',
  name: 'w1',
  phase: 'Draining',
  stage: 'Drain',
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
});
