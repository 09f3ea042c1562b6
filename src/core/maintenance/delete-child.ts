import { type MaintenanceRequest, pathOf } from '../request/request.ts';
import type { Write } from './decision.ts';

/** Deletes the Maintenance that was made for a machine or by a plan: this one, and no other of its name. */
export const deleteChildWrite = (child: MaintenanceRequest): Write => ({
  what: 'delete the maintenance of the node',
  method: 'DELETE',
  path: pathOf(child),
  body: { preconditions: { uid: child.uid } },
  store: 'requests',
  adapter: child.adapter.name,
  announce: [],
});
