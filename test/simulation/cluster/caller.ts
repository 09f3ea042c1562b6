/** The process that calls. */
export type Caller = {
  readonly id: number;
  readonly isAlive: () => boolean;
  readonly mayAct: () => boolean;
};
