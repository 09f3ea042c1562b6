import { blockerId, needsHelp } from '../core/drain/blocker.ts';
import type { Budget } from '../core/drain/budget.ts';
import { startCourse } from '../core/phase/course.ts';
import { noNotes } from '../core/phase/picture.ts';
import { drain } from '../core/phase/steps/drain.ts';
import type { Pod } from '../core/pod/pod.ts';
import type { Request } from '../core/request/request.ts';

/** A blocker as it is shown. */
export type Blocked = {
  readonly cause: string;
  readonly what: string;
  readonly message: string;
  readonly remedy?: string;
  readonly since?: string;
};

type Known = {
  readonly pods: readonly Pod[];
  readonly budgets: readonly Budget[];
  readonly daemonSets: ReadonlySet<string>;
  readonly now: Temporal.Instant;
};

/** Since when, as the operator has stored it, where the kind stores it. */
const storedSince = (request: Request, id: string): string | undefined =>
  request.history.blockedSince.get(id)?.toString({ smallestUnit: 'second' });

/** A blocker as the kinds that store them do. */
type Stored = {
  readonly cause: string;
  readonly pod?: { readonly namespace: string; readonly name: string };
  readonly volume?: string;
  readonly message: string;
  readonly remedy?: string;
  readonly since: string;
};

/** What the server's last answers were is known to the operator alone; the status of the object may have them. */
const storedBlockers = (request: Request): readonly Blocked[] => {
  const { blockers = [] } = request.status as { readonly blockers?: readonly Stored[] };
  return blockers.map(({ cause, pod, volume = '', message, remedy, since }) => {
    const what = pod ? `${pod.namespace}/${pod.name}` : volume;
    return { cause, what, message, since, ...(remedy !== undefined && { remedy }) };
  });
};

/**
 * What keeps this request's drain from being complete: what its status says, or, for kinds that store no blockers, the operator's own
 * judgement of the pods and budgets as they are now.
 */
export const blockersNow = (request: Request, { pods, budgets, daemonSets, now }: Known): readonly Blocked[] => {
  const stored = storedBlockers(request);
  if (stored.length > 0) return stored;
  const course = startCourse(
    {
      nodeName: request.nodeName,
      requests: [request],
      pods,
      podsConfirmed: true,
      budgets,
      daemonSets,
      leases: new Map(),
      attachments: [],
      volumes: new Map(),
      attempts: new Map(),
      flights: [],
      notes: noNotes,
      dialects: [request.dialect],
      missingKinds: new Set(),
      terms: { durationSeconds: 0, renewEverySeconds: 0 },
    },
    now,
  );
  const standings = course.standings.map(standing => ({ ...standing, granted: true, holds: true }));
  const [standing] = drain({ ...course, standings }).course.standings;
  const hindrances = (standing?.drain?.hindrances ?? []).toSorted((one, other) => Number(needsHelp(other)) - Number(needsHelp(one)));
  return hindrances.map(({ cause, pod, message, remedy, ...rest }) => {
    const since = storedSince(request, blockerId({ cause, message, ...rest, ...(pod && { pod }) }));
    const what = pod ? `${pod.namespace}/${pod.name}` : '';
    return { cause, what, message, ...(remedy !== undefined && { remedy }), ...(since !== undefined && { since }) };
  });
};
