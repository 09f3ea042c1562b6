import { joinLimited, resolveAmount } from '@drydock/apimachinery';
import type { Node } from '../../node/node.ts';
import { quorumAllows } from '../../quorum/quorum.ts';
import { type InFlight, maxStatusLength } from '../in-flight.ts';
import type { Plan, Stage, TopologyLimit } from '../plan.ts';
import type { OtherPlan, WaitReason } from '../snapshot.ts';
import { outageBy, unavailableOf } from '../unavailability.ts';
import { outOfService, type PlanView } from '../view.ts';
import { rampOf, type StageNodes } from './stages.ts';

/** Limits on whether one more node may begin: a limit returns a reason if it forbids that. */

/**
 * Returns who has taken the nodes out of service, for people; for nodes on which the plan itself
 * has failed also the remedy, because nothing else brings them back.
 */
function outBy(names: readonly string[], { snapshot, verdicts }: PlanView): string {
  const { name: plan } = snapshot.plan;
  const failed = new Set(
    [...verdicts.values()].flatMap(({ node, verdict, held }) =>
      verdict === 'Failed' && held ? [node] : [],
    ),
  );
  const textOf = (name: string, by: string): string =>
    by === outageBy(plan) && failed.has(name)
      ? `node ${name}, on which it has failed (drydock plan retry ${plan} ${name})`
      : by;
  return joinLimited(
    [
      ...new Set(
        names.flatMap(name => (snapshot.outages.get(name) ?? []).map(({ by }) => textOf(name, by))),
      ),
    ].toSorted(),
    5,
  );
}

function stageLimit({ maxInFlight }: Stage, nodes: number): number | undefined {
  return maxInFlight === undefined ? undefined : (resolveAmount(maxInFlight, nodes) ?? 0);
}

/** Number of slots up to which the size of the status is not measured: measuring takes a moment. */
const fewSlots = 50;

/**
 * Limits the nodes in flight by the size of the status, which has to store them and their outcomes.
 */
function statusLimit({ inFlight, status }: Plan): WaitReason | undefined {
  if (inFlight.length < fewSlots || JSON.stringify(status).length < maxStatusLength)
    return undefined;
  const message = `${inFlight.length} nodes are in flight, and the status of the plan has no room for more: others begin when some of them are done`;
  return { reason: 'StatusFull', message };
}

/**
 * Returns the nodes that are still being drained. Drains end when pods and budgets allow it, which
 * may be never.
 */
function drainedText(inFlight: readonly InFlight[]): string {
  const drained = inFlight
    .flatMap(({ node, state }) => (state === 'Holding' ? node : []))
    .toSorted();
  const [first, ...others] = drained;
  if (first === undefined) return '';
  return `; ${joinLimited(drained, 3)} ${others.length === 0 ? 'is' : 'are'} still being drained: drydock why ${first} tells what keeps it`;
}

/**
 * Limits the number of nodes in flight by the plan, its ramp and the stage. Undefined as long as
 * there is room.
 */
export function inFlightLimit(
  view: PlanView,
  { stage, nodes }: StageNodes,
): WaitReason | undefined {
  const { snapshot, counts, verdicts } = view;
  const { inFlight, concurrency } = snapshot.plan;
  const under = (limit: number, many: number, what: string): WaitReason | undefined =>
    many < limit
      ? undefined
      : {
          reason: 'MaxInFlight',
          message: `${many} nodes are in flight, and ${what} allows ${limit}${drainedText(inFlight)}`,
        };
  const all =
    under(counts.maxInFlight, inFlight.length, 'concurrency.maxInFlight') ??
    statusLimit(snapshot.plan);
  if (all !== undefined) return all;
  if (concurrency.ramp !== undefined) {
    const limit = rampOf(concurrency.ramp, [...verdicts.values()]);
    if (inFlight.length >= limit)
      return {
        reason: 'Ramp',
        message: `${inFlight.length} nodes are in flight, and the ramp allows ${limit} so far`,
      };
  }
  const limit = stageLimit(stage, nodes.length);
  const ofStage = inFlight.filter(one => one.stage === stage.name).length;
  return limit === undefined
    ? undefined
    : under(limit, ofStage, `maxInFlight of stage ${stage.name}`);
}

/** A limit on one node; evaluated for every candidate, so its counts are computed once a pass. */
type NodeLimit = (node: Node) => WaitReason | undefined;

function ownLimit(view: PlanView, out: readonly string[]): NodeLimit {
  const { maxUnavailable } = view.counts;
  if (maxUnavailable === undefined || out.length + 1 <= maxUnavailable) return () => undefined;
  const { maxUnavailableAbsolute: absolute } = view.snapshot.plan.concurrency;
  const field = absolute === maxUnavailable ? 'maxUnavailableAbsolute' : 'maxUnavailable';
  const message = `${out.length} of the selected nodes are out of service, and concurrency.${field} allows ${maxUnavailable}: ${outBy(out, view)}`;
  return () => ({ reason: 'MaxUnavailable', message });
}

/** Limits nodes by the limit of another plan. */
function otherLimit(
  view: PlanView,
  { name: plan, selected, maxUnavailable }: OtherPlan,
): NodeLimit {
  const out = maxUnavailable === undefined ? [] : unavailableOf(selected, view.snapshot.outages);
  if (maxUnavailable === undefined || out.length + 1 <= maxUnavailable) return () => undefined;
  const message = `plan ${plan} allows ${maxUnavailable} of its nodes out of service, and ${out.length} are: ${outBy(out, view)}`;
  return ({ name }) => (selected.has(name) ? { reason: 'OtherPlanLimit', message } : undefined);
}

/**
 * Returns the domain of a node, also if its Node object is gone because its machine is being
 * replaced.
 */
function domainOf({ snapshot }: PlanView, name: string, key: string): string {
  return (
    snapshot.nodes.get(name)?.node.labels[key] ??
    snapshot.plan.inFlight.find(({ node }) => node === name)?.domains?.[key] ??
    ''
  );
}

function perDomain(
  view: PlanView,
  { key, maxUnavailable }: TopologyLimit,
  out: readonly string[],
): NodeLimit {
  if (maxUnavailable === undefined) return () => undefined;
  const taken = Map.groupBy(out, name => domainOf(view, name, key));
  return ({ labels }) => {
    const domain = labels[key] ?? '';
    const there = taken.get(domain) ?? [];
    if (there.length + 1 <= maxUnavailable) return undefined;
    const message = `${there.length} nodes of ${key}=${domain} are out of service, and ${maxUnavailable} may be: ${outBy(there, view)}`;
    return { reason: 'Topology', message };
  };
}

/** Limits the domains of nodes in flight, whether these were out before or not. */
export function domainLimit(view: PlanView): NodeLimit {
  const { inFlight, concurrency } = view.snapshot.plan;
  const limits = concurrency.perTopology.flatMap(({ key, maxDomains }) =>
    maxDomains === undefined
      ? []
      : [
          {
            key,
            maxDomains,
            domains: new Set(inFlight.map(({ node }) => domainOf(view, node, key))),
          },
        ],
  );
  return ({ labels }) => {
    const full = limits.find(
      ({ key, maxDomains, domains }) =>
        !domains.has(labels[key] ?? '') && domains.size + 1 > maxDomains,
    );
    if (full === undefined) return undefined;
    const there = joinLimited([...full.domains].toSorted(), 5);
    return {
      reason: 'Topology',
      message: `nodes of ${full.key} ${there} are in flight, and those of ${full.maxDomains} may be at once`,
    };
  };
}

function quorumLimit({ snapshot }: PlanView): NodeLimit {
  const wanted = new Set(snapshot.outages.keys());
  return ({ name }) => {
    const verdict = quorumAllows(name, snapshot.members, wanted);
    return verdict.allowed || verdict.alone
      ? undefined
      : { reason: 'Quorum', message: verdict.why };
  };
}

/** Keeps the last node that is in service. A plan of one node has no other. */
function lastHealthy({ selected }: PlanView, out: readonly string[]): NodeLimit {
  const isLast =
    selected.size > 1 && selected.size - out.filter(name => selected.has(name)).length <= 1;
  return () =>
    isLast ? { reason: 'LastHealthy', message: 'no other selected node is in service' } : undefined;
}

/**
 * Returns the limits that keep one node from being taken out of service. A node that is out already
 * costs nothing.
 */
export function outageLimits(view: PlanView): NodeLimit {
  const { snapshot } = view;
  const out = outOfService(snapshot);
  const limits: readonly NodeLimit[] = [
    ownLimit(view, out),
    ...snapshot.others.map(other => otherLimit(view, other)),
    ...snapshot.plan.concurrency.perTopology.map(limit => perDomain(view, limit, out)),
    quorumLimit(view),
    lastHealthy(view, out),
  ];
  return node => {
    if (snapshot.outages.has(node.name)) return undefined;
    for (const limit of limits) {
      const refusal = limit(node);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  };
}
