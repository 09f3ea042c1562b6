/** The object that an event is about. */
export type ObjectReference = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion?: string;
};

/** An event to record. */
export type KubeEvent = {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly component: string;
  readonly about: ObjectReference;
};
