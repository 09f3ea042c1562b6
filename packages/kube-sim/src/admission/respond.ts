import { type JsonObject, sameJson } from '@drydock/apimachinery';
import { review, reviews, type User } from '../access/authorize.ts';
import { handle } from '../api/handler.ts';
import { type ApiRequest, failed, type Response, withWarnings } from '../api/message.ts';
import { isDryDeletion, type Server } from '../api/server.ts';
import { internalError } from '../failure.ts';
import { objects } from '../object.ts';
import { type AdmissionAttributes, type AdmissionPlugin, newUid } from '../registry/metadata.ts';
import { bindingsOf, conditionsOf, policiesOn } from './policies.ts';
import { ask, type CallWebhook, unanswered, type WebhookResult } from './review.ts';
import { concerns } from './select.ts';

/** Handles requests as `handle` does, and calls validating webhooks before anything is written. */

const configurations = 'validatingwebhookconfigurations.admissionregistration.k8s.io';

/** Returns the webhooks in the order of the calls. */
function webhooksOf({ registry }: Server): readonly JsonObject[] {
  return registry.store
    .list(configurations)
    .flatMap(configuration => objects(configuration['webhooks']));
}

/** Limit of retries of a write whose object has changed during the webhooks' calls. */
const rounds = 5;

function isSame(one: AdmissionAttributes, other: AdmissionAttributes): boolean {
  return (
    one.operation === other.operation &&
    one.of.resource === other.of.resource &&
    one.subresource === other.subresource &&
    one.namespace === other.namespace &&
    one.before?.metadata.resourceVersion === other.before?.metadata.resourceVersion &&
    (one.before !== undefined ||
      sameJson(one.object?.['spec'] ?? null, other.object?.['spec'] ?? null))
  );
}

/** Wraps a plugin so that policies run before webhooks. */
function behindPolicies(
  server: Server,
  user: User,
  warnings: string[],
  next: AdmissionPlugin,
): AdmissionPlugin {
  return attempt => {
    const said = policiesOn(server.registry.store, attempt, user);
    warnings.push(...said.warnings);
    return said.failure === undefined ? next(attempt) : { kind: 'refused', failure: said.failure };
  };
}

/** Returns the writes of a request, by a run without writing. */
function attemptsOf(
  server: Server,
  request: ApiRequest,
  user: User,
): readonly AdmissionAttributes[] {
  const attempts: AdmissionAttributes[] = [];
  const dryRun = isDryDeletion(request);
  const gate = behindPolicies(server, user, [], attempt => {
    attempts.push({ ...attempt, dryRun });
    return undefined;
  });
  const played = { ...server, registry: { ...server.registry, gate } };
  handle(played, { ...request, query: new Map([...request.query, ['dryRun', 'All']]) });
  return attempts;
}

type Judged = { readonly attempt: AdmissionAttributes; readonly verdict: WebhookResult };

export type WebhookCaller = { readonly call: CallWebhook; readonly user: User };

async function judged(
  server: Server,
  webhooks: readonly JsonObject[],
  attempt: AdmissionAttributes,
  { call, user }: WebhookCaller,
): Promise<Judged> {
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
  return {
    attempt,
    verdict: {
      warnings: verdicts.flatMap(({ warnings }) => warnings),
      ...(failure && { failure }),
    },
  };
}

/** Returns a plugin that admits judged writes; it refuses others, and reports them. */
function gateOf(all: readonly Judged[], unknown: () => void): AdmissionPlugin {
  return attempt => {
    const known = all.find(one => isSame(one.attempt, attempt));
    if (known === undefined) {
      unknown();
      return {
        kind: 'refused',
        failure: internalError('the object changed while webhooks were asked'),
      };
    }
    const { failure } = known.verdict;
    return failure === undefined ? undefined : { kind: 'refused', failure };
  };
}

/** Handles a request with policies only. */
function plainly(server: Server, request: ApiRequest, user: User): Response {
  const warnings: string[] = [];
  const gate = behindPolicies(server, user, warnings, () => undefined);
  return withWarnings(
    handle({ ...server, registry: { ...server.registry, gate } }, request),
    warnings,
  );
}

/** Handles one request: evaluates policies, and calls the webhooks that apply. */
export async function respond(
  server: Server,
  request: ApiRequest,
  asker: WebhookCaller,
): Promise<Response> {
  if (request.method === 'GET') return handle(server, request);
  if (request.method === 'POST' && request.path === reviews.path)
    return review(server.registry.store, request);
  const webhooks = webhooksOf(server);
  if (webhooks.length === 0) return plainly(server, request, asker.user);
  for (let round = 0; round < rounds; round += 1) {
    const attempts = attemptsOf(server, request, asker.user);
    if (
      !attempts.some(attempt =>
        webhooks.some(webhook => concerns(webhook, attempt, server.registry.store)),
      )
    )
      return plainly(server, request, asker.user);
    const all = await Promise.all(
      attempts.map(attempt => judged(server, webhooks, attempt, asker)),
    );
    let isStale = false;
    const warnings = all.flatMap(({ verdict }) => verdict.warnings);
    const judging = gateOf(all, () => {
      isStale = true;
    });
    const gate = behindPolicies(server, asker.user, warnings, judging);
    const response = handle({ ...server, registry: { ...server.registry, gate } }, request);
    if (!isStale) return withWarnings(response, warnings);
  }
  return failed(
    internalError(
      `the object of ${request.method} ${request.path} changes faster than its webhooks answer`,
    ),
  );
}
