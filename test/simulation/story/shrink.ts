import { type Outcome, play } from '../play.ts';
import type { Warp } from '../simulation-context.ts';
import type { Story } from './story.ts';

/** Makes a failing story smaller for as long as it still fails in the same way. */

type List =
  | 'maintenances'
  | 'deeds'
  | 'ends'
  | 'workloads'
  | 'budgets'
  | 'vms'
  | 'plans'
  | 'windows'
  | 'outages'
  | 'clockSteps';

const lists: readonly List[] = [
  'deeds',
  'ends',
  'outages',
  'clockSteps',
  'windows',
  'maintenances',
  'plans',
  'vms',
  'workloads',
  'budgets',
];

/** The story without some of a list: halves first, then one after the other. */
const shorter = function* (story: Story, list: List): Generator<Story> {
  const all: readonly unknown[] = story[list];
  for (let size = all.length; size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < all.length; from += size)
      yield { ...story, [list]: [...all.slice(0, from), ...all.slice(from + size)] };
  }
};

const calmer = function* (story: Story): Generator<Story> {
  for (const name of ['refused', 'conflict', 'lost', 'unanswered', 'slow'] as const) {
    if (story.calls[name] > 0) yield { ...story, calls: { ...story.calls, [name]: 0 } };
  }
  for (const name of ['lagMs', 'cutEveryMs', 'expired', 'stale'] as const) {
    if (story.watches[name] > 0) yield { ...story, watches: { ...story.watches, [name]: 0 } };
  }
  if (story.watches.hangs) yield { ...story, watches: { ...story.watches, hangs: false } };
  if (story.machines !== undefined) {
    yield { ...story, machines: undefined };
    for (const one of story.machines.announcements) {
      yield {
        ...story,
        machines: {
          ...story.machines,
          announcements: story.machines.announcements.filter(other => other !== one),
        },
      };
    }
  }
};

const smaller = function* (story: Story): Generator<Story> {
  yield* calmer(story);
  for (const list of lists) yield* shorter(story, list);
};

export type Shrunk = { readonly story: Story; readonly outcome: Outcome };

/** `mayGoOn`: it can take long. */
export async function shrink(failing: Shrunk, warp: Warp, mayGoOn: () => boolean): Promise<Shrunk> {
  let best = failing;
  for (let found = true; found; ) {
    found = false;
    for (const story of smaller(best.story)) {
      if (!mayGoOn()) return best;
      const outcome = await play(story, warp);
      if (outcome.violation?.invariant !== failing.outcome.violation?.invariant) continue;
      best = { story, outcome };
      found = true;
      break;
    }
  }
  return best;
}
