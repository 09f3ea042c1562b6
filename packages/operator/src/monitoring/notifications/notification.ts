import { createHash } from 'node:crypto';
import type { KubeEvent } from '@drydock/apimachinery';

/** A notification about an event, for external receivers. */
export type Notification = {
  readonly event: KubeEvent;
  readonly at: Temporal.Instant;
  /** Identifier, the same for each retry: receivers detect duplicates by it. */
  readonly id: string;
};

/** Returns the content by which two events are equal. */
export function contentOf({ about, reason, message }: KubeEvent): string {
  return JSON.stringify([
    about.apiVersion,
    about.kind,
    about.namespace ?? '',
    about.name,
    about.uid,
    reason,
    message,
  ]);
}

export function notificationOf(event: KubeEvent, at: Temporal.Instant): Notification {
  return {
    event,
    at,
    id: createHash('sha256')
      .update(`${contentOf(event)} ${at.toString()}`)
      .digest('hex')
      .slice(0, 32),
  };
}

/** Groups of events that a receiver may select by one word. */
export const groups = ['plans', 'blocked', 'announcements', 'all'] as const;
type EventGroup = (typeof groups)[number];

/** Reasons of events for every node of a plan: too many for people. */
const ofEachNode = new Set(['NodeBegun', 'NodeDone', 'NodeRequeued', 'NodeSkipped']);

/** Kinds of events about blockers on a node: of its maintenances, of itself and of its pods. */
const onNodes = new Set(['Maintenance', 'NodeMaintenance', 'Node', 'Pod']);

const isIn: Readonly<Record<EventGroup, (event: KubeEvent) => boolean>> = {
  plans: ({ about, reason }) => about.kind === 'MaintenancePlan' && !ofEachNode.has(reason),
  blocked: ({ about, type }) => onNodes.has(about.kind) && type === 'Warning',
  announcements: ({ about }) => about.kind === 'MachineMaintenance',
  all: () => true,
};

function isGroup(word: string): word is EventGroup {
  return groups.some(group => group === word);
}

/** Returns whether a word is a group, or `KIND/REASON`. */
export function isSelector(word: string): boolean {
  return isGroup(word) || /^[A-Z][A-Za-z]{0,62}\/[A-Z][A-Za-z]{0,126}$/.test(word);
}

/** Returns whether one of the selectors matches this event. */
export function isSelected(event: KubeEvent, selectors: readonly string[]): boolean {
  return selectors.some(word =>
    isGroup(word) ? isIn[word](event) : word === `${event.about.kind}/${event.reason}`,
  );
}
