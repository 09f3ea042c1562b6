import { createHash } from 'node:crypto';
import { type JsonObject, type KubeEvent, printable, printableLines } from '@drydock/apimachinery';
import type { HttpRequest } from '@drydock/utils';

/** A notification about an event, for external receivers. */
export type Notification = {
  readonly event: KubeEvent;
  readonly at: Temporal.Instant;
  /** Identifier, the same for each retry: receivers detect duplicates by it. */
  readonly id: string;
};

/** Returns the content by which two events are equal. */
export function contentOfEvent({ about, reason, message }: KubeEvent): string {
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
      .update(`${contentOfEvent(event)} ${at.toString()}`)
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
function textOf(
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

/** Payloads of each kind of receiver. */

export const receiverKinds = ['cloudevents', 'slack', 'teams'] as const;
export type ReceiverKind = (typeof receiverKinds)[number];

export type Format = {
  readonly kind: ReceiverKind;
  readonly template: string;
  /** Source of CloudEvents, which identifies the cluster. */
  readonly source: string;
};

type Body = { readonly contentType: string; readonly json: JsonObject };

const json = 'application/json; charset=utf-8';

/**
 * Escapes &, < and >: Slack reads them as markup, including mentions (docs.slack.dev, "Formatting
 * message text").
 */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function identity(text: string): string {
  return text;
}

/**
 * Returns a CloudEvent 1.0 in structured mode (github.com/cloudevents/spec,
 * http-protocol-binding.md).
 */
function cloudEvent({ source, template }: Format, notification: Notification): Body {
  const { event, at, id } = notification;
  const { about, type, reason, message } = event;
  return {
    contentType: 'application/cloudevents+json; charset=utf-8',
    json: {
      specversion: '1.0',
      id,
      source,
      type: `dev.drydock.${about.kind}.${reason}`.toLowerCase(),
      subject: about.namespace === undefined ? about.name : `${about.namespace}/${about.name}`,
      time: at.toString(),
      datacontenttype: 'application/json',
      data: {
        type,
        reason,
        message: printable(message),
        text: textOf(template, notification, identity),
        object: { ...about },
      },
    },
  };
}

/** Returns the payload for an incoming webhook of Slack, or a compatible one. */
function slack({ template }: Format, notification: Notification): Body {
  return {
    contentType: json,
    json: {
      text: textOf(template, notification, escaped),
      unfurl_links: false,
      unfurl_media: false,
    },
  };
}

/**
 * Returns the payload for a Workflows webhook of Microsoft Teams: an Adaptive Card; a TextRun has
 * no markup.
 */
function teams({ template }: Format, notification: Notification): Body {
  return {
    contentType: json,
    json: {
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          content: {
            $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
            type: 'AdaptiveCard',
            version: '1.4',
            body: [
              {
                type: 'RichTextBlock',
                inlines: [{ type: 'TextRun', text: textOf(template, notification, identity) }],
              },
            ],
          },
        },
      ],
    },
  };
}

const bodies: Readonly<Record<ReceiverKind, (format: Format, notification: Notification) => Body>> =
  {
    cloudevents: cloudEvent,
    slack,
    teams,
  };

/** Returns the request to a receiver at this URL. */
export function buildRequest(format: Format, url: string, notification: Notification): HttpRequest {
  const { contentType, json: body } = bodies[format.kind](format, notification);
  return {
    method: 'POST',
    url,
    headers: { 'content-type': contentType },
    body: JSON.stringify(body),
  };
}
