import type { JsonObject } from '@drydock/apimachinery';
import { printable } from '@drydock/apimachinery';
import type { HttpRequest } from '@drydock/utils';
import type { Notification } from './notification.ts';
import { textOf } from './text.ts';

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
