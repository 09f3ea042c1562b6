import { rehearsalRefusals } from '@drydock/core/plan';
import { z } from 'zod';

/** Schema of when a MaintenancePlan is rehearsed, and what follows from it. */
export const rehearse = z
  .object({
    before: z
      .enum(['Required', 'NotRequired'])
      .default('Required')
      .describe('Required: no node starts before the current plan has been rehearsed.'),
    everySeconds: z
      .int32()
      .min(60)
      .optional()
      .describe('Interval of further rehearsals during the run, in seconds. Defaults to none.'),
    refuse: z
      .array(z.enum(rehearsalRefusals))
      .max(rehearsalRefusals.length)
      .optional()
      .describe(
        'Forecasts that keep the run from its first node. MissesDeadline: the run ends after pace.deadline. BlockedNodes: nodes get stuck. Unfinished: not all nodes are done at the end.',
      ),
    timeoutSeconds: z
      .int32()
      .min(30)
      .max(86_400)
      .default(900)
      .describe('Time limit of one rehearsal, in seconds, including the start of its pod.'),
    image: z
      .string()
      .min(1)
      .max(1024)
      .optional()
      .describe(
        'Drydock image for the pod of the rehearsal. Defaults to the image of the operator.',
      ),
    workSeconds: z
      .int32()
      .min(0)
      .optional()
      .describe(
        'Duration of the work on one node, in seconds. Defaults to the durations recorded by earlier runs.',
      ),
    rebootSeconds: z
      .int32()
      .min(0)
      .optional()
      .describe(
        'Duration of a reboot, in seconds. Defaults to the durations recorded by earlier runs.',
      ),
  })
  .describe(
    'Simulates the plan on a copy of the cluster, in a pod that only reads; status.forecast has the result.',
  );
