/** A blocker as it is shown. */
export type BlockerSummary = {
  readonly cause: string;
  /** `namespace/name` of the pod, or the volume. */
  readonly what: string;
  readonly message: string;
  readonly remedy?: string;
  readonly since?: string;
};

/** Blockers that are the same matter and ask for the same thing. */
export type BlockerGroup = Pick<BlockerSummary, 'cause' | 'message' | 'remedy'> & { readonly whats: readonly string[] };

/** What is one sentence for people: several blockers with the same message and remedy. Sorted within, in the order given between. */
export const groupBlockers = (blockers: readonly BlockerSummary[]): readonly BlockerGroup[] => {
  const groups = new Map<string, BlockerSummary[]>();
  for (const blocker of blockers) {
    const key = `${blocker.message}\n${blocker.remedy ?? ''}`;
    groups.set(key, [...(groups.get(key) ?? []), blocker]);
  }
  return [...groups.values()].flatMap(group => {
    const [first] = group;
    if (first === undefined) return [];
    const { cause, message, remedy } = first;
    return { cause, message, ...(remedy !== undefined && { remedy }), whats: group.map(({ what }) => what).sort() };
  });
};
