import type { MachineTerms, OpenStackTerms } from '../controller-manager.ts';
import type { Address } from '../serving/server.ts';
import type { IntakeSettings } from './event-intake.ts';
import type { MetricsSettings } from './metrics-server.ts';
import type { WebhookSettings } from './webhook.ts';

/** Checked settings of the operator's process. An undefined address disables its server. */
export type ManagerSettings = {
  readonly metrics: MetricsSettings;
  readonly healthAddress: Address | undefined;
  readonly leaderElect: boolean;
  /** Namespace of the leader's Lease; the connection's when left out. */
  readonly leaderNamespace: string | undefined;
  readonly leaseNamespace: string;
  readonly operatorNamespace: string;
  /** `namespace/name` of this process's pod, from its manifest; undefined outside a cluster. */
  readonly ownPod: string | undefined;
  /** UID of that pod; undefined where its manifest does not pass it. */
  readonly podUid: string | undefined;
  /** Node of that pod. */
  readonly ownNode: string | undefined;
  readonly leaseSeconds: number;
  /** Whether responders that pods name are addressed by EvictionRequests. */
  readonly evictionRequests: 'Auto' | 'Never';
  /** Namespace for new MachineMaintenances; the operator's own when left out. */
  readonly machineNamespace: string | undefined;
  readonly machines: Omit<MachineTerms, 'namespace'>;
  /** Event intake; undefined when disabled. */
  readonly eventIntake: IntakeSettings | undefined;
  /** OpenStack; undefined when nodes are not hypervisors, or the flags name none. */
  readonly openStack: OpenStackTerms | undefined;
  /** File with the sources of metrics and alerts; undefined when gates have none. */
  readonly monitoringConfig: string | undefined;
  /** File with the receivers of notifications; undefined when there are none. */
  readonly notificationConfig: string | undefined;
  /** Webhook; undefined when disabled. */
  readonly webhook: WebhookSettings | undefined;
};
