import type { JsonObject } from '../core/json.ts';
import type { CallWebhook } from './admission/review.ts';
import type { ApiRequest, Response } from './api/message.ts';
import { part, text } from './object.ts';
import type { RegistryContext } from './registry/context.ts';

/** An API server behind the cluster's own, in the same process: what an APIService and webhooks with a Service lead to. */
export type Extension = {
  /** The group that it serves; nothing else in the cluster does. */
  readonly group: string;
  /** The Service by which webhooks name it. */
  readonly service: { readonly namespace: string; readonly name: string };
  /** Answers a request for something in its group. */
  readonly answer: (registry: RegistryContext, request: ApiRequest) => Response;
  /** Answers an AdmissionReview at a path; throws, in the words of a client, when it cannot be reached. */
  readonly review: (registry: RegistryContext, path: string, review: JsonObject) => JsonObject;
};

/** Webhooks of extensions are answered here, all others on their way. */
export const callExtensions =
  (registry: RegistryContext, extensions: readonly Extension[], otherwise: CallWebhook): CallWebhook =>
  async (client, review, timeoutMs) => {
    const service = part(client, 'service');
    const [namespace, name] = [text(service, 'namespace'), text(service, 'name')];
    const found = extensions.find(one => one.service.namespace === namespace && one.service.name === name);
    return found === undefined ? otherwise(client, review, timeoutMs) : found.review(registry, text(service, 'path'), review);
  };

/** The one that serves a path. */
export const extensionAt = (extensions: readonly Extension[], path: string): Extension | undefined =>
  extensions.find(({ group }) => path.startsWith(`/apis/${group}/`));
