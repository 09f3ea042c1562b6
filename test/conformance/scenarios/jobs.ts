import type { Place } from './place.ts';
import type { Scenario } from './sides.ts';
import { count, isGoing, isTrue, isUp, type Thing } from './thing.ts';

const soon = { 'drydock.test/done-after': '500ms' };

function ended(at: Place, condition: 'Complete' | 'Failed'): Promise<Thing> {
  return at.until(`the job to be ${condition}`, () => {
    const job = at.find('jobs', 'sum');
    return isTrue(job, condition) ? job : undefined;
  });
}

/** Nobody holds the pods any more. */
function released(at: Place): Promise<unknown> {
  return at.until('the pods to be counted', () =>
    at.pods.every(({ metadata }) => (metadata.finalizers ?? []).length === 0),
  );
}

function running(at: Place, active: number): Promise<unknown> {
  return at.until(
    `${active} active pods`,
    () =>
      count(at.find('jobs', 'sum'), 'active') === active &&
      count(at.find('jobs', 'sum'), 'ready') === active,
  );
}

function fail(at: Place, pod: Thing | undefined): Promise<unknown> {
  return at.patchStatus('pods', pod?.metadata.name ?? '', { status: { phase: 'Failed' } });
}

export const jobs: readonly Scenario[] = [
  {
    name: 'a job of one pod completes',
    run: async at => {
      await at.nodes(['n1']);
      await at.job('sum', { annotations: soon });
      await ended(at, 'Complete');
      await released(at);
    },
  },
  {
    name: 'several completions, two at a time',
    run: async at => {
      await at.nodes(['n1']);
      await at.job('sum', { annotations: soon, spec: { completions: 3, parallelism: 2 } });
      await ended(at, 'Complete');
      await released(at);
      at.note('pods', at.pods.length);
    },
  },
  {
    name: 'a job without a number of completions is complete when one pod was right and all have ended',
    run: async at => {
      await at.nodes(['n1']);
      await at.job('sum', { annotations: soon, spec: { completions: null, parallelism: 2 } });
      await ended(at, 'Complete');
      await released(at);
    },
  },
  {
    name: 'an indexed job: every index once',
    run: async at => {
      await at.nodes(['n1']);
      await at.job('sum', {
        annotations: soon,
        spec: { completions: 3, parallelism: 2, completionMode: 'Indexed' },
      });
      await ended(at, 'Complete');
      await released(at);
    },
  },
  {
    name: 'a pod that fails is one too many: the job has failed, and its other pods go',
    run: async at => {
      await at.nodes(['n1']);
      await at.job('sum', { spec: { completions: 2, parallelism: 2, backoffLimit: 0 } });
      await running(at, 2);
      await fail(at, at.pods[0]);
      await ended(at, 'Failed');
      await released(at);
    },
  },
  {
    name: 'a pod that fails is tried again, after ten seconds',
    run: async at => {
      await at.nodes(['n1']);
      await at.job('sum', { spec: { backoffLimit: 1 } });
      await running(at, 1);
      const [first] = at.pods;
      await fail(at, first);
      await at.until('the failure to count', () => count(at.find('jobs', 'sum'), 'failed') === 1);
      at.note('pods at first', at.pods.length);
      const next = await at.until('another pod', () =>
        at.pods.find(pod => isUp(pod) && pod.metadata.uid !== first?.metadata.uid),
      );
      const since =
        Date.parse(next.metadata.creationTimestamp) -
        Date.parse(first?.metadata.creationTimestamp ?? '');
      at.note('after ten seconds', since >= 9000);
      await running(at, 1);
    },
  },
  {
    name: 'a pod that is deleted while it runs has failed',
    run: async at => {
      await at.nodes(['n1']);
      await at.job('sum', {
        annotations: { 'drydock.test/gone-after': '3s' },
        spec: { backoffLimit: 0 },
      });
      await running(at, 1);
      await at.delete('pods', at.pods[0]?.metadata.name ?? '');
      await ended(at, 'Failed');
      await at.until('the pod to go', () => at.pods.length === 0);
    },
  },
  {
    name: 'a job that replaces only what has ended waits for the pod to go',
    run: async at => {
      await at.nodes(['n1']);
      await at.job('sum', { spec: { podReplacementPolicy: 'Failed' } });
      await running(at, 1);
      await at.delete('pods', at.pods[0]?.metadata.name ?? '');
      await at.until(
        'a pod that terminates',
        () => count(at.find('jobs', 'sum'), 'terminating') === 1,
      );
      at.note('failed', count(at.find('jobs', 'sum'), 'failed'));
      at.note('pods', at.pods.length);
    },
    leaving: {
      courses: ['pods'],
      final: ['pods', 'jobs'],
      events: ['SuccessfulCreate', 'Scheduled'],
    },
  },
  {
    name: 'a job that takes too long has failed',
    run: async at => {
      await at.nodes(['n1']);
      await at.job('sum', { spec: { activeDeadlineSeconds: 3600 } });
      // From the start a short one is over on a busy machine before the pod runs, on one side and
      // not on the other.
      await running(at, 1);
      await at.patch('jobs', 'sum', { spec: { activeDeadlineSeconds: 1 } });
      await ended(at, 'Failed');
      await at.until('the pod to go', () => at.pods.length === 0);
    },
  },
  {
    name: 'a job is suspended: its pods go and do not count; it is resumed: others come',
    run: async at => {
      await at.nodes(['n1']);
      await at.job('sum', { spec: { completions: 2, parallelism: 2 } });
      await running(at, 2);
      await at.patch('jobs', 'sum', { spec: { suspend: true } });
      await at.until(
        'no pods',
        () => at.pods.length === 0 && isTrue(at.find('jobs', 'sum'), 'Suspended'),
      );
      await at.until(
        'no pods that terminate',
        () => count(at.find('jobs', 'sum'), 'terminating') === 0,
      );
      at.note('failed', count(at.find('jobs', 'sum'), 'failed'));
      await at.patch('jobs', 'sum', { spec: { suspend: false } });
      await running(at, 2);
    },
  },
  {
    name: 'a job that begins suspended makes no pods',
    run: async at => {
      await at.nodes(['n1']);
      await at.job('sum', { annotations: soon, spec: { suspend: true } });
      await at.until('the condition', () => isTrue(at.find('jobs', 'sum'), 'Suspended'));
      at.note('started', at.find('jobs', 'sum')?.status?.['startTime'] !== undefined);
      await at.patch('jobs', 'sum', { spec: { suspend: false } });
      await ended(at, 'Complete');
      await released(at);
    },
  },
  {
    name: 'more at a time, and fewer',
    run: async at => {
      await at.nodes(['n1']);
      await at.job('sum', { spec: { completions: 4, parallelism: 1 } });
      await running(at, 1);
      await at.patch('jobs', 'sum', { spec: { parallelism: 3 } });
      await running(at, 3);
      await at.patch('jobs', 'sum', { spec: { parallelism: 1 } });
      await running(at, 1);
      await at.until('the others to be gone', () => at.pods.length === 1);
      at.note('failed', count(at.find('jobs', 'sum'), 'failed'));
    },
  },
  {
    name: 'a job goes when it has been over for as long as it says',
    run: async at => {
      await at.nodes(['n1']);
      await at.job('sum', { annotations: soon, spec: { ttlSecondsAfterFinished: 1 } });
      await at.until('the job', () => at.all('jobs').length === 1);
      await at.until('nothing to be left', () => at.pods.length + at.all('jobs').length === 0);
    },
  },
  {
    name: 'a job is deleted with its pods, however they are held',
    run: async at => {
      await at.nodes(['n1']);
      await at.job('sum', { spec: { completions: 2, parallelism: 2 } });
      await running(at, 2);
      await at.delete('jobs', 'sum', { propagationPolicy: 'Background' });
      await at.until('nothing to be left', () => at.pods.length + at.all('jobs').length === 0);
    },
  },
  {
    name: 'a job leaves its pods alone when it was told to',
    run: async at => {
      await at.nodes(['n1']);
      await at.job('sum', {});
      await running(at, 1);
      await at.delete('jobs', 'sum', { propagationPolicy: 'Orphan' });
      await at.until('the job to go', () => at.all('jobs').length === 0);
      await at.until('the pod to be free', () =>
        at.pods.every(pod => !isGoing(pod) && pod.metadata.ownerReferences === undefined),
      );
      await released(at);
    },
  },
];
