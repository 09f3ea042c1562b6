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
export function unknownPlaceholder(template: string): string | undefined {
  return [...template.matchAll(placeholder)]
    .map(([, name = '']) => name)
    .find(name => !fieldNames.includes(name));
}

function bounded(text: string): string {
  return printableLines(text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text);
}

/**
 * Returns the template with the fields of the notification, each in one row and escaped; line
 * breaks of the template stay.
 */
export function textOf(
  template: string,
  notification: Notification,
  escape: (text: string) => string,
): string {
  return bounded(
    template.replaceAll(placeholder, (_all, name: string) =>
      escape(printable(fields[name]?.(notification) ?? '')),
    ),
  );
}
