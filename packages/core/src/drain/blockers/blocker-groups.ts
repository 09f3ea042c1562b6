/** A blocker in the form in which it is shown. */
export type BlockerSummary = {
  readonly reason: string;
  /** `namespace/name` of the pod, or the name of the volume. */
  readonly what: string;
  readonly message: string;
  readonly remedy?: string;
  readonly since?: string;
};

/** Blockers that have the same message and remedy. */
export type BlockerGroup = Pick<BlockerSummary, 'reason' | 'message' | 'remedy'> & {
  readonly whats: readonly string[];
};

/**
 * Groups blockers with the same message and remedy into one sentence for people. Sorted within a
 * group; the groups keep the given order.
 */
export function groupBlockers(blockers: readonly BlockerSummary[]): readonly BlockerGroup[] {
  const groups = new Map<string, BlockerSummary[]>();
  for (const blocker of blockers) {
    const key = `${blocker.message}\n${blocker.remedy ?? ''}`;
    groups.set(key, [...(groups.get(key) ?? []), blocker]);
  }
  return [...groups.values()].flatMap(group => {
    const [first] = group;
    if (first === undefined) return [];
    const { reason, message, remedy } = first;
    return {
      reason,
      message,
      ...(remedy !== undefined && { remedy }),
      whats: group.map(({ what }) => what).sort(),
    };
  });
}
