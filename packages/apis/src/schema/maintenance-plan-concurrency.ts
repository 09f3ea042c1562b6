import { z } from 'zod';

/** Schema of how many nodes of a MaintenancePlan may be in flight, or out of service, at once. */

export function amount(what: string) {
  return z
    .union([z.int(), z.string()])
    .meta({ 'x-kubernetes-int-or-string': true, minimum: 0, pattern: '^(100|[1-9][0-9]?)%$' })
    .describe(`${what} A number, or a percentage of the selected nodes, rounded down, at least 1.`);
}

export const concurrency = z
  .object({
    maxInFlight: amount(
      'Maximum number of nodes of this plan in flight at once; 0 starts none.',
    ).default(1),
    maxUnavailable: amount(
      'Maximum number of selected nodes out of service, whatever the cause: no node starts beyond it.',
    ).optional(),
    maxUnavailableAbsolute: z
      .int32()
      .min(1)
      .optional()
      .describe('Absolute cap on maxUnavailable: the lower of the two applies.'),
    perTopology: z
      .array(
        z.object({
          key: z
            .string()
            .min(1)
            .max(317)
            .describe('A node label, for example topology.kubernetes.io/zone.'),
          maxUnavailable: z
            .int32()
            .min(1)
            .optional()
            .describe('Maximum number of nodes out of service per value of the label.'),
          maxDomains: z
            .int32()
            .min(1)
            .optional()
            .describe('Maximum number of label values with nodes in flight at once.'),
        }),
      )
      .max(8)
      .optional(),
    foreignCordon: z
      .enum(['Wait', 'TakeFirst', 'Skip'])
      .default('Wait')
      .describe(
        'Nodes that somebody else has cordoned. Wait: start them once they are uncordoned. TakeFirst: start them first. Skip: leave them out.',
      ),
    startsPerWindow: z
      .int32()
      .min(1)
      .optional()
      .describe(
        'Maximum number of nodes of a run that start in one opening of the windows. Does not limit nodes to which no window applies.',
      ),
    ramp: z
      .object({ start: z.int32().min(1).default(1), factor: z.int32().min(1).max(10).default(2) })
      .optional()
      .describe(
        'Limits the nodes in flight to start at first. After that many successes the limit is multiplied by factor; a failure resets it to start.',
      ),
  })
  .describe('Limits how many nodes are in flight or out of service at once.');
