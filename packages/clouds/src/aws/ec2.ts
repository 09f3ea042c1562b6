/** The part of EC2's API that the scan needs, with EC2's own names. */

/** A scheduled event of an instance, from DescribeInstanceStatus. */
export type Ec2Event = {
  readonly InstanceEventId?: string | undefined;
  readonly Code?: string | undefined;
  readonly Description?: string | undefined;
  readonly NotBefore?: Date | undefined;
  readonly NotAfter?: Date | undefined;
  readonly NotBeforeDeadline?: Date | undefined;
};

export type Ec2Status = {
  readonly InstanceId?: string | undefined;
  readonly Events?: readonly Ec2Event[] | undefined;
};

/**
 * An error of EC2, or of the connection to it. `code` is the operating system's, for example
 * ECONNREFUSED.
 */
export type Ec2Failure = {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly status?: number;
};

export type Ec2Answer =
  | { readonly statuses: readonly Ec2Status[]; readonly failure?: undefined }
  | { readonly statuses?: undefined; readonly failure: Ec2Failure };

/** Client of EC2 in one region. */
export interface Ec2 {
  /**
   * Requests the statuses of at most 100 instances, including stopped ones; the result need only
   * contain those with events. Returns failures as values; rejects only with the signal's reason.
   */
  describe(ids: readonly string[], signal: AbortSignal): Promise<Ec2Answer>;
}

/** EC2's limit of ids in one call. */
export const idsPerCall = 100;

/** Codes of events that EC2 can schedule (EC2 API reference, InstanceStatusEvent.code). */
export const ec2Codes = [
  'instance-reboot',
  'system-reboot',
  'system-maintenance',
  'instance-retirement',
  'instance-stop',
] as const;
