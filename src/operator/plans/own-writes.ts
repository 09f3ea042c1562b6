import type { Write } from '../../core/write.ts';
import type { Clock } from '../../support/clock.ts';
import { type DecisionWriter, takesAway } from '../write/decision-writer.ts';

/** Milliseconds for which a plan waits for the answers about its nodes: nearly all are there by then, and one look sees all of them. */
const patienceMs = 1_000;

/** With so many writes of a plan that have no answer, nothing new is made for it: what takes away and what records still is. */
const maxUnanswered = 16;

/** The writes of one decision. */
type Batch = {
  /** What it is about and has no answer yet: writes about it are under way. */
  readonly open: Set<string>;
  /** The plan waits for it no longer: what has not begun is decided about anew, and each answer is looked at. */
  isOutrun: boolean;
  isLate: boolean;
  readonly cancel: () => void;
};

/** All of them are about nodes: what is decided about anything else waits for its answer. */
const isOfNodes = ({ open }: Batch): boolean => [...open].every(of => !of.startsWith('/'));

/**
 * The writes about the nodes of each plan, made while other plans are decided about. A plan waits a moment for their answers; what has none by then, as where a webhook
 * hangs, keeps its own node alone: nothing is decided about that node before it is known what became of it.
 */
export class OwnWrites {
  readonly #decisions: Pick<DecisionWriter, 'writeOwn'>;
  readonly #clock: Pick<Clock, 'after'>;
  /** Look at the plan again. */
  readonly #again: (plan: string) => void;
  readonly #underWay = new Map<string, Set<Batch>>();
  readonly #ends = new Set<Promise<void>>();
  /** Plans that were to be looked at meanwhile. */
  readonly #postponed = new Set<string>();
  /** Defects of the writes, told at the next look. */
  readonly #defects = new Map<string, unknown>();

  constructor(decisions: Pick<DecisionWriter, 'writeOwn'>, clock: Pick<Clock, 'after'>, again: (plan: string) => void) {
    this.#decisions = decisions;
    this.#clock = clock;
    this.#again = again;
  }

  /** Whether the plan waits for the answers to its writes: it is looked at again when they are there. Throws what was wrong with the last ones. */
  postpones(plan: string): boolean {
    if (this.#isAwaited(plan)) {
      this.#postponed.add(plan);
      return true;
    }
    if (!this.#defects.has(plan)) return false;
    const defect = this.#defects.get(plan);
    this.#defects.delete(plan);
    throw defect;
  }

  /** What writes of the plan are about that have no answer yet. */
  unanswered(plan: string): ReadonlySet<string> {
    return new Set([...(this.#underWay.get(plan) ?? [])].flatMap(({ open }) => [...open]));
  }

  /** Begins them, where there are any. */
  begin(plan: string, writes: readonly Write[]): void {
    const unanswered = this.unanswered(plan);
    const isFull = unanswered.size >= maxUnanswered;
    const own = writes.filter(write => write.of !== undefined && !unanswered.has(write.of) && (!isFull || takesAway(write)));
    if (own.length === 0) return;
    const end = this.#make(plan, own);
    this.#ends.add(end);
    void end.finally(() => this.#ends.delete(end));
  }

  /** Resolves when none is under way. */
  async ended(): Promise<void> {
    await Promise.all(this.#ends);
  }

  async #make(plan: string, writes: readonly Write[]): Promise<void> {
    const batch: Batch = {
      open: new Set(),
      isOutrun: false,
      isLate: false,
      cancel: this.#clock.after(patienceMs, () => this.#outrun(plan, batch)),
    };
    this.#underWay.set(plan, (this.#underWay.get(plan) ?? new Set()).add(batch));
    const turn = {
      begins: (of: string): boolean => {
        if (!batch.isOutrun) batch.open.add(of);
        return !batch.isOutrun;
      },
      ended: (of: string): void => {
        batch.open.delete(of);
        if (batch.isOutrun) this.#again(plan);
        else if (batch.isLate) this.#outrun(plan, batch);
      },
    };
    const [ended] = await Promise.allSettled([this.#decisions.writeOwn(plan, plan, writes, turn)]);
    batch.cancel();
    if (ended.status === 'rejected') {
      this.#defects.set(plan, ended.reason);
      this.#postponed.add(plan);
    }
    const others = this.#underWay.get(plan);
    others?.delete(batch);
    if (others?.size === 0) this.#underWay.delete(plan);
    if (!this.#isAwaited(plan) && this.#postponed.delete(plan)) this.#again(plan);
  }

  #isAwaited(plan: string): boolean {
    return [...(this.#underWay.get(plan) ?? [])].some(batch => !batch.isOutrun);
  }

  #outrun(plan: string, batch: Batch): void {
    batch.isLate = true;
    if (!isOfNodes(batch)) return;
    batch.isOutrun = true;
    this.#postponed.delete(plan);
    this.#again(plan);
  }
}
