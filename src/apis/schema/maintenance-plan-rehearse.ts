import { z } from 'zod';
import { rehearsalRefusals } from '../../core/plan/rehearsal/rehearsal.ts';

/** When a MaintenancePlan is rehearsed, and what follows from it. */
export const rehearse = z
  .object({
    before: z
      .enum(['Required', 'NotRequired'])
      .default('Required')
      .describe('Required: no node begins before the plan, as it is now, has been rehearsed.'),
    everySeconds: z.int32().min(60).optional().describe('How often it is rehearsed again while it runs. Left out: it is not.'),
    refuse: z
      .array(z.enum(rehearsalRefusals))
      .max(rehearsalRefusals.length)
      .optional()
      .describe(
        'What keeps the run from its first node. MissesDeadline: it ends after pace.deadline. BlockedNodes: nodes get stuck. Unfinished: not all nodes are done in the end.',
      ),
    timeoutSeconds: z.int32().min(30).max(86_400).default(900).describe('How long one rehearsal may take, with its start.'),
    image: z
      .string()
      .min(1)
      .max(1024)
      .optional()
      .describe('Image of Drydock for the pod that rehearses. Defaults to that of the operator.'),
    workSeconds: z.int32().min(0).optional().describe('How long the work takes on a node. Defaults to what earlier runs have recorded.'),
    rebootSeconds: z.int32().min(0).optional().describe('How long a node takes to reboot. Defaults to what earlier runs have recorded.'),
  })
  .describe('Plays the plan on a copy of the cluster, in a pod that only reads; what it foretells is in status.forecast.');
