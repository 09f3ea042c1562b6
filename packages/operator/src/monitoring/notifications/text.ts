import { printable, printableLines } from '@drydock/apimachinery';
import type { Notification } from './notification.ts';

/** Text of a notification: a template with a few placeholders, without evaluation. */

const fields: Readonly<Record<string, (notification: Notification) => string>> = {
  kind: ({ event }) => event.about.kind,
  name: ({ event }) => event.about.name,
  namespace: ({ event }) => event.about.namespace ?? '',
  reason: ({ event }) => event.reason,
  message: ({ event }) => event.message,
  type: ({ event }) => event.type,
  time: ({ at }) => at.toString({ smallestUnit: 'second' }),
};

export const fieldNames = Object.keys(fields);

/** Limit in characters; chat services accept some thousand. */
const maxLength = 2000;

export const defaultTemplate = '{{kind}} {{name}}: {{reason}}: {{message}}';

const placeholder = /\{\{\s*([^{}]*?)\s*\}\}/g;

/** Returns the first unknown placeholder. */
export const unknownPlaceholder = (template: string): string | undefined =>
  [...template.matchAll(placeholder)].map(([, name = '']) => name).find(name => !fieldNames.includes(name));

const bounded = (text: string): string => printableLines(text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text);

/**
 * Returns the template with the fields of the notification, each in one row and escaped; line
 * breaks of the template stay.
 */
export const textOf = (template: string, notification: Notification, escape: (text: string) => string): string =>
  bounded(template.replaceAll(placeholder, (_all, name: string) => escape(printable(fields[name]?.(notification) ?? ''))));
