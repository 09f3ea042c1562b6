import { createHash } from 'node:crypto';
import type { KubeEvent } from '../../operator/ports.ts';

/** Something that has happened, for people elsewhere. */
export type Notification = {
  readonly event: KubeEvent;
  readonly at: Temporal.Instant;
  /** The same for each try: receivers tell by it what they know already. */
  readonly id: string;
};

/** What of an event makes it the same as another. */
export const contentOf = ({ about, reason, message }: KubeEvent): string =>
  JSON.stringify([about.apiVersion, about.kind, about.namespace ?? '', about.name, about.uid, reason, message]);

export const notificationOf = (event: KubeEvent, at: Temporal.Instant): Notification => ({
  event,
  at,
  id: createHash('sha256')
    .update(`${contentOf(event)} ${at.toString()}`)
    .digest('hex')
    .slice(0, 32),
});

/** Events that belong together: what a receiver may ask for by one word. */
export const groups = ['plans', 'blocked', 'announcements', 'all'] as const;
export type EventGroup = (typeof groups)[number];

/** Of every node of a plan: too many for people. */
const ofEachNode = new Set(['NodeBegun', 'NodeDone', 'NodeRequeued', 'NodeSkipped']);

/** What stands in the way on a node: of its maintenances, of itself and of its pods. */
const onNodes = new Set(['Maintenance', 'NodeMaintenance', 'Node', 'Pod']);

const isIn: Readonly<Record<EventGroup, (event: KubeEvent) => boolean>> = {
  plans: ({ about, reason }) => about.kind === 'MaintenancePlan' && !ofEachNode.has(reason),
  blocked: ({ about, type }) => onNodes.has(about.kind) && type === 'Warning',
  announcements: ({ about }) => about.kind === 'MachineMaintenance',
  all: () => true,
};

const isGroup = (word: string): word is EventGroup => groups.some(group => group === word);

/** A group, or `KIND/REASON`. */
export const isSelector = (word: string): boolean => isGroup(word) || /^[A-Z][A-Za-z]{0,62}\/[A-Z][A-Za-z]{0,126}$/.test(word);

/** Whether one of the selectors is for this event. */
export const isSelected = (event: KubeEvent, selectors: readonly string[]): boolean =>
  selectors.some(word => (isGroup(word) ? isIn[word](event) : word === `${event.about.kind}/${event.reason}`));
