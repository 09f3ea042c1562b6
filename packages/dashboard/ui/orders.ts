import type {
  ApprovalOrder,
  DrainPreview,
  HostOrder,
  MaintainOrder,
  NodePods,
  PlanApprovalOrder,
  PlanOrder,
  PodView,
  ReleaseOrder,
} from '../src/scene.ts';
import { credentials } from './link.ts';

/** Result of an order, with a message for users. */
export type OrderResult = { readonly done: boolean; readonly message: string };

function messageIn(body: unknown): string {
  const message = (body as { readonly message?: unknown } | null)?.message;
  return typeof message === 'string' ? message : 'the server gave no reason';
}

function unreachable(error: unknown): string {
  return `failed to reach the dashboard's server: ${error instanceof Error ? error.message : String(error)}`;
}

type Order =
  | MaintainOrder
  | ReleaseOrder
  | ApprovalOrder
  | PlanOrder
  | PlanApprovalOrder
  | HostOrder;

async function send(path: string, order: Order): Promise<OrderResult> {
  try {
    const headers = { ...credentials(), 'content-type': 'application/json' };
    const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(order) });
    return { done: response.ok, message: messageIn(await response.json()) };
  } catch (error) {
    return { done: false, message: unreachable(error) };
  }
}

export function maintain(order: MaintainOrder): Promise<OrderResult> {
  return send('/api/maintain', order);
}

export function release({ store, namespace, name }: ReleaseOrder): Promise<OrderResult> {
  return send('/api/release', { store, name, ...(namespace !== undefined && { namespace }) });
}

export function approve({ key }: ApprovalOrder): Promise<OrderResult> {
  return send('/api/approve', { key });
}

export function steerPlan(order: PlanOrder): Promise<OrderResult> {
  return send('/api/steer-plan', order);
}

export function approvePlan(order: PlanApprovalOrder): Promise<OrderResult> {
  return send('/api/approve-plan', order);
}

/** Has a simulated cloud announce an event. */
export function announce(order: HostOrder): Promise<OrderResult> {
  return send('/api/announce', order);
}

/** Returns the preview of a drain, or a string with the error. */
export async function outlook({
  node,
  force,
  deleteEmptyDirData,
}: Omit<MaintainOrder, 'reason'>): Promise<DrainPreview | string> {
  const query = new URLSearchParams({
    node,
    force: String(force),
    deleteEmptyDirData: String(deleteEmptyDirData),
  });
  try {
    const response = await fetch(`/api/outlook?${query}`, { headers: credentials() });
    const body: unknown = await response.json();
    return response.ok ? (body as DrainPreview) : messageIn(body);
  } catch (error) {
    return unreachable(error);
  }
}

/**
 * Returns the pods of a node; undefined when the server cannot be reached, and the request is to be
 * retried.
 */
export async function podsOf(node: string): Promise<readonly PodView[] | undefined> {
  try {
    const response = await fetch(`/api/pods?${new URLSearchParams({ node })}`, {
      headers: credentials(),
    });
    return response.ok ? ((await response.json()) as NodePods).pods : undefined;
  } catch {
    // The page already shows the lost connection.
    return undefined;
  }
}
