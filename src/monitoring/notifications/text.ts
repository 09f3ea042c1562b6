import { printable, printableLines } from '../../core/printable.ts';
import type { Notification } from './notification.ts';

/** The words of a notification: a template with a few placeholders, of which nothing is evaluated. */

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

/** Characters; chat services take some thousand. */
const maxLength = 2000;

export const defaultTemplate = '{{kind}} {{name}}: {{reason}}: {{message}}';

const placeholder = /\{\{\s*([^{}]*?)\s*\}\}/g;

/** The first placeholder that is none of those that there are. */
export const unknownPlaceholder = (template: string): string | undefined =>
  [...template.matchAll(placeholder)].map(([, name = '']) => name).find(name => !fieldNames.includes(name));

const bounded = (text: string): string => printableLines(text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text);

/** The template with the fields of the notification, each of them in one row and escaped; line breaks of the template stay. */
export const textOf = (template: string, notification: Notification, escape: (text: string) => string): string =>
  bounded(template.replaceAll(placeholder, (_all, name: string) => escape(printable(fields[name]?.(notification) ?? ''))));
