import type { JsonObject } from '@drydock/apimachinery';
import type { CallWebhook } from './admission/review.ts';
import type { ApiRequest, Response } from './api/message.ts';
import { part, text } from './object.ts';
import type { RegistryContext } from './registry/metadata.ts';

/**
 * An API server behind the cluster's own, in the same process: the target of an APIService, and of
 * webhooks with a Service.
 */
export type Extension = {
  /** Group that it serves; nothing else in the cluster does. */
  readonly group: string;
  /** Service by which webhooks name it. */
  readonly service: { readonly namespace: string; readonly name: string };
  /** Handles a request for its group. */
  readonly answer: (registry: RegistryContext, request: ApiRequest) => Response;
  /**
   * Handles an AdmissionReview at a path; throws, with a client's message, when it cannot be
   * reached.
   */
  readonly review: (registry: RegistryContext, path: string, review: JsonObject) => JsonObject;
};

/**
 * Returns a client that calls webhooks of extensions in the process, and all others by `otherwise`.
 */
export function callExtensions(
  registry: RegistryContext,
  extensions: readonly Extension[],
  otherwise: CallWebhook,
): CallWebhook {
  return async (client, review, timeoutMs) => {
    const service = part(client, 'service');
    const [namespace, name] = [text(service, 'namespace'), text(service, 'name')];
    const found = extensions.find(
      one => one.service.namespace === namespace && one.service.name === name,
    );
    return found === undefined
      ? otherwise(client, review, timeoutMs)
      : found.review(registry, text(service, 'path'), review);
  };
}

/** Returns the extension that serves a path. */
export function extensionAt(extensions: readonly Extension[], path: string): Extension | undefined {
  return extensions.find(({ group }) => path.startsWith(`/apis/${group}/`));
}
