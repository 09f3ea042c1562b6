/** What the scan needs of EC2, in EC2's own words. */

/** One of an instance's scheduled events, as DescribeInstanceStatus tells it. */
export type Ec2Event = {
  readonly InstanceEventId?: string | undefined;
  readonly Code?: string | undefined;
  readonly Description?: string | undefined;
  readonly NotBefore?: Date | undefined;
  readonly NotAfter?: Date | undefined;
  readonly NotBeforeDeadline?: Date | undefined;
};

export type Ec2Status = { readonly InstanceId?: string | undefined; readonly Events?: readonly Ec2Event[] | undefined };

/** EC2's refusal, or what stood between us and EC2. `code` is the operating system's, for example ECONNREFUSED. */
export type Ec2Failure = { readonly name: string; readonly message: string; readonly code?: string; readonly status?: number };

export type Ec2Answer =
  | { readonly statuses: readonly Ec2Status[]; readonly failure?: undefined }
  | { readonly statuses?: undefined; readonly failure: Ec2Failure };

/** One region of EC2. */
export interface Ec2 {
  /**
   * Asks for the statuses of at most 100 instances, stopped ones included, of which only those with events need to be answered. Failures are
   * answers; it rejects with the signal's reason when that is aborted, and for nothing else.
   */
  describe(ids: readonly string[], signal: AbortSignal): Promise<Ec2Answer>;
}

/** EC2 refuses more ids in one call. */
export const idsPerCall = 100;

/** What EC2 can schedule (EC2 API reference, InstanceStatusEvent.code). */
export const ec2Codes = ['instance-reboot', 'system-reboot', 'system-maintenance', 'instance-retirement', 'instance-stop'] as const;
