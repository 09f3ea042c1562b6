import { type JsonObject, sameJson } from '../../core/json.ts';
import { reviews, type User } from '../access/asked.ts';
import { review } from '../access/review.ts';
import { handle } from '../api/handler.ts';
import { type ApiRequest, failed, type Response, withWarnings } from '../api/message.ts';
import { isDryDeletion } from '../api/params.ts';
import type { Server } from '../api/server.ts';
import { internalError } from '../failure.ts';
import { objects } from '../object.ts';
import { newUid } from '../registry/context.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../registry/gate.ts';
import { bindingsOf, conditionsOf } from './attempt.ts';
import { policiesOn } from './policies.ts';
import { ask, type CallWebhook, unanswered, type WebhookResult } from './review.ts';
import { concerns } from './select.ts';

/** Answers requests as `handle` does, and asks the validating webhooks before anything is written. */

const configurations = 'validatingwebhookconfigurations.admissionregistration.k8s.io';

/** In the order in which they are asked. */
const webhooksOf = ({ registry }: Server): readonly JsonObject[] =>
  registry.store.list(configurations).flatMap(configuration => objects(configuration['webhooks']));

/** How often a write is looked at again because its object has changed while webhooks were asked. */
const rounds = 5;

const isSame = (one: AdmissionAttributes, other: AdmissionAttributes): boolean =>
  one.operation === other.operation &&
  one.of.resource === other.of.resource &&
  one.subresource === other.subresource &&
  one.namespace === other.namespace &&
  one.before?.metadata.resourceVersion === other.before?.metadata.resourceVersion &&
  (one.before !== undefined || sameJson(one.object?.['spec'] ?? null, other.object?.['spec'] ?? null));

/** Before webhooks are asked, policies have spoken. */
const behindPolicies =
  (server: Server, user: User, warnings: string[], next: AdmissionPlugin): AdmissionPlugin =>
  attempt => {
    const said = policiesOn(server.registry.store, attempt, user);
    warnings.push(...said.warnings);
    return said.failure === undefined ? next(attempt) : { kind: 'refused', failure: said.failure };
  };

/** What the request would write: played without writing. */
const attemptsOf = (server: Server, request: ApiRequest, user: User): readonly AdmissionAttributes[] => {
  const attempts: AdmissionAttributes[] = [];
  const dryRun = isDryDeletion(request);
  const gate = behindPolicies(server, user, [], attempt => {
    attempts.push({ ...attempt, dryRun });
    return undefined;
  });
  const played = { ...server, registry: { ...server.registry, gate } };
  handle(played, { ...request, query: new Map([...request.query, ['dryRun', 'All']]) });
  return attempts;
};

type Judged = { readonly attempt: AdmissionAttributes; readonly verdict: WebhookResult };

export type WebhookCaller = { readonly call: CallWebhook; readonly user: User };

const judged = async (
  server: Server,
  webhooks: readonly JsonObject[],
  attempt: AdmissionAttributes,
  { call, user }: WebhookCaller,
): Promise<Judged> => {
  const { store, random } = server.registry;
  const asked = webhooks.filter(webhook => concerns(webhook, attempt, store));
  const verdicts = await Promise.all(
    asked.map(async (webhook): Promise<WebhookResult> => {
      const conditions = conditionsOf(webhook['matchConditions'], bindingsOf(attempt, user, store));
      if (conditions.kind === 'unmet') return { warnings: [] };
      if (conditions.kind === 'error') return unanswered(webhook, conditions.message);
      return ask(webhook, attempt, user, newUid(random), call);
    }),
  );
  const failure = verdicts.find(verdict => verdict.failure !== undefined)?.failure;
  return { attempt, verdict: { warnings: verdicts.flatMap(({ warnings }) => warnings), ...(failure && { failure }) } };
};

/** Lets through what has been judged; what has not been is refused, and noted. */
const gateOf =
  (all: readonly Judged[], unknown: () => void): AdmissionPlugin =>
  attempt => {
    const known = all.find(one => isSame(one.attempt, attempt));
    if (known === undefined) {
      unknown();
      return { kind: 'refused', failure: internalError('the object changed while webhooks were asked') };
    }
    const { failure } = known.verdict;
    return failure === undefined ? undefined : { kind: 'refused', failure };
  };

/** Lets through what the policies do. */
const plainly = (server: Server, request: ApiRequest, user: User): Response => {
  const warnings: string[] = [];
  const gate = behindPolicies(server, user, warnings, () => undefined);
  return withWarnings(handle({ ...server, registry: { ...server.registry, gate } }, request), warnings);
};

/** Answers one request; policies speak, and webhooks are asked where there are any that it concerns. */
export const respond = async (server: Server, request: ApiRequest, asker: WebhookCaller): Promise<Response> => {
  if (request.method === 'GET') return handle(server, request);
  if (request.method === 'POST' && request.path === reviews.path) return review(server.registry.store, request);
  const webhooks = webhooksOf(server);
  if (webhooks.length === 0) return plainly(server, request, asker.user);
  for (let round = 0; round < rounds; round += 1) {
    const attempts = attemptsOf(server, request, asker.user);
    if (!attempts.some(attempt => webhooks.some(webhook => concerns(webhook, attempt, server.registry.store))))
      return plainly(server, request, asker.user);
    const all = await Promise.all(attempts.map(attempt => judged(server, webhooks, attempt, asker)));
    let isStale = false;
    const warnings = all.flatMap(({ verdict }) => verdict.warnings);
    const judging = gateOf(all, () => {
      isStale = true;
    });
    const gate = behindPolicies(server, asker.user, warnings, judging);
    const response = handle({ ...server, registry: { ...server.registry, gate } }, request);
    if (!isStale) return withWarnings(response, warnings);
  }
  return failed(internalError(`the object of ${request.method} ${request.path} changes faster than its webhooks answer`));
};
