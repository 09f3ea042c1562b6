import type { IntOrPercent } from '../int-or-percent.ts';
import type { Node } from '../node/node.ts';
import type { MaintenanceRequest } from '../request/request.ts';
import type { MaintenanceWindow } from '../window/window.ts';
import type { Write } from '../write.ts';
import type { Machine, MachineSet } from './machine.ts';
import type { MachinePause } from './pause.ts';
import type { MachinePhase, MachineRequest, MachineStrategy } from './request.ts';
import type { Notice } from './source.ts';

/** Another machine maintenance, as far as it may be in the way. */
export type ConcurrentMaintenance = {
  readonly key: string;
  /** It has begun and is not over. */
  readonly active: boolean;
  /** It responds to announcements: nobody has asked for it by itself, and no plan, which has limits of its own. */
  readonly responds: boolean;
  readonly set?: string;
  readonly zone?: string;
  readonly controlPlane: boolean;
  /** Ids of pending events that its node is not drained for yet. */
  readonly undrained: ReadonlySet<string>;
};

/** How many machines may be worked on at the same time; 0 is no limit. */
export type MachineLimits = {
  readonly perSet: number;
  readonly perZone: number;
  /** Of all nodes, with Machines and without: those that are out of service in response to announcements. A number, or a percent of all nodes. */
  readonly nodes: IntOrPercent;
};

/** A machine that is not being deleted and has no node that is Ready. */
export type UnreadyMachine = {
  readonly machine: Machine;
  /** Since when its node is not Ready, by that node's own condition. Missing: no node is known, or nothing says so. */
  readonly since?: Temporal.Instant;
};

/** What is to replace a machine, and what it has at the moment. */
export type ReplacementSet = {
  readonly set: MachineSet;
  /** Its machines, the ones being deleted too. */
  readonly members: readonly Machine[];
  /** How many of them are not being deleted and have a node that is Ready. */
  readonly ready: number;
  readonly unready: readonly UnreadyMachine[];
};

/** Everything known about one machine maintenance at one moment. */
export type MachineSnapshot = {
  readonly request: MachineRequest;
  /** A machine API is served and has been read. */
  readonly machineApi: boolean;
  /** Missing: there is none (any more), or the request is about a node only. */
  readonly machine?: Machine;
  /** The node of the machine, by its identity (`identity.ts`). */
  readonly node?: Node;
  /** Why the node that the machine names, or the Machine of the node, is not taken for it. */
  readonly unidentified?: string;
  /** The API server has been asked, and has no node of the name, or of the providerID, that the machine gives. */
  readonly nodeIsGone?: true;
  /** The pod of the operator that decides this (`namespace/name`), where it runs on the node: with the machine it would be lost. */
  readonly operatorPod?: string;
  /** Why nobody is to touch the machine, or why it is not known whether anybody may. */
  readonly pause?: MachinePause;
  /** Missing: nothing would replace the machine. */
  readonly replacement?: ReplacementSet;
  /** Sets that have a machine too many on account of this request. */
  readonly surged: readonly MachineSet[];
  /** The Maintenance that drains the node for this request. */
  readonly child?: MaintenanceRequest;
  /** The drain that it is told differs from what this request wants: somebody has changed it. */
  readonly childChanged?: true;
  /** A Maintenance of that name that is not part of this request: of another node, or somebody else's. */
  readonly stranger?: MaintenanceRequest;
  /** Sources of announcements whose word counts when they say that a machine goes within minutes. */
  readonly urgentSources: ReadonlySet<string>;
  /** What the agent of the node has heard. */
  readonly notice?: Notice;
  /** All there are. */
  readonly windows: readonly MaintenanceWindow[];
  /** There may be another window, that was there before the request: why it is not known. Missing where all are known. */
  readonly windowsProblem?: string | undefined;
  readonly others: readonly ConcurrentMaintenance[];
  readonly limits: MachineLimits;
  /** How many nodes the cluster has. */
  readonly nodeCount: number;
  /** How long others of this strategy have taken, in seconds; missing as long as there were none. */
  readonly seen: ReadonlyMap<MachineStrategy, number>;
  /** A node is drained this long before the cloud may begin, in seconds, where no window says otherwise. */
  readonly drainLeadSeconds: number;
};

/** What is noted when the work begins, and stays. */
type Beginning = {
  readonly strategy: MachineStrategy;
  readonly becauseOfDeadline: boolean;
  readonly set?: string;
  readonly machineUid?: string;
  readonly nodeName?: string;
  readonly bootId?: string;
};

/** Where a machine maintenance stands, and what is to be done for the next step. */
export type MachineDecision = {
  readonly phase: MachinePhase;
  /** What it waits for, as a word. */
  readonly reason: string;
  /** The same for people. */
  readonly message: string;
  /** It does not go on by itself. */
  readonly warning?: true;
  readonly writes?: readonly Write[];
  /** A write of the request itself: its status is written the next time. */
  readonly own?: Write;
  readonly begins?: Beginning;
  /** What had begun is undone: it begins anew another time. */
  readonly restarts?: true;
  /** A node that the API server has to be asked about before anything more can be decided: by its name, or by the providerID that it would have. */
  readonly unseenNode?: { readonly name: string } | { readonly providerId: string };
  /** Nothing begins before the API server has been asked whether there is another window. */
  readonly asksForWindows?: true;
  /** When it will begin. */
  readonly startsAt?: Temporal.Instant;
  /** Look again at this time, whatever happens. */
  readonly requeueAt?: Temporal.Instant;
};

/** One step of the way: undefined when it is done. */
export type MachineStep = (snapshot: MachineSnapshot, now: Temporal.Instant) => MachineDecision | undefined;
