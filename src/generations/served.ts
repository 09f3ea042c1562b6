import type { Dialect } from '../core/request/request.ts';
import { maintenance } from './maintenance.ts';
import { medik8s } from './medik8s.ts';

/** Every kind that is served. A further generation is one file and one word here. */
export const served = (leaseNamespace: string): readonly Dialect[] => [maintenance(leaseNamespace), medik8s(leaseNamespace)];
