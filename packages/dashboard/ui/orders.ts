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

const messageIn = (body: unknown): string => {
  const message = (body as { readonly message?: unknown } | null)?.message;
  return typeof message === 'string' ? message : 'the server gave no reason';
};

const unreachable = (error: unknown): string =>
  `failed to reach the dashboard's server: ${error instanceof Error ? error.message : String(error)}`;

type Order = MaintainOrder | ReleaseOrder | ApprovalOrder | PlanOrder | PlanApprovalOrder | HostOrder;

const send = async (path: string, order: Order): Promise<OrderResult> => {
  try {
    const headers = { ...credentials(), 'content-type': 'application/json' };
    const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(order) });
    return { done: response.ok, message: messageIn(await response.json()) };
  } catch (error) {
    return { done: false, message: unreachable(error) };
  }
};

export const maintain = (order: MaintainOrder): Promise<OrderResult> => send('/api/maintain', order);

export const release = ({ store, namespace, name }: ReleaseOrder): Promise<OrderResult> =>
  send('/api/release', { store, name, ...(namespace !== undefined && { namespace }) });

export const approve = ({ key }: ApprovalOrder): Promise<OrderResult> => send('/api/approve', { key });

export const steerPlan = (order: PlanOrder): Promise<OrderResult> => send('/api/steer-plan', order);

export const approvePlan = (order: PlanApprovalOrder): Promise<OrderResult> => send('/api/approve-plan', order);

/** Has a simulated cloud announce an event. */
export const announce = (order: HostOrder): Promise<OrderResult> => send('/api/announce', order);

/** Returns the preview of a drain, or a string with the error. */
export const outlook = async ({ node, force, deleteEmptyDirData }: Omit<MaintainOrder, 'reason'>): Promise<DrainPreview | string> => {
  const query = new URLSearchParams({ node, force: String(force), deleteEmptyDirData: String(deleteEmptyDirData) });
  try {
    const response = await fetch(`/api/outlook?${query}`, { headers: credentials() });
    const body: unknown = await response.json();
    return response.ok ? (body as DrainPreview) : messageIn(body);
  } catch (error) {
    return unreachable(error);
  }
};

/**
 * Returns the pods of a node; undefined when the server cannot be reached, and the request is to be
 * retried.
 */
export const podsOf = async (node: string): Promise<readonly PodView[] | undefined> => {
  try {
    const response = await fetch(`/api/pods?${new URLSearchParams({ node })}`, { headers: credentials() });
    return response.ok ? ((await response.json()) as NodePods).pods : undefined;
  } catch {
    // The page already shows the lost connection.
    return undefined;
  }
};
