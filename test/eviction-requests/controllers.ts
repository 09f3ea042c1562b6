/**
 * What the two controllers of EvictionRequest (KEP-4563) do that no released Kubernetes has: the
 * one that turns requests into Evictions and walks through the responders of a pod, and the default
 * responder, which calls pods/eviction. Written from the contract of lifecycle.k8s.io/v1alpha1 and
 * the drafts of both; pure, so that they play on a real API server, which checks every write, and
 * in simulated time. Left out: metrics, the five seconds for a last word once the pod is gone, and
 * the order of responders of the same priority.
 */

const version = 'lifecycle.k8s.io/v1alpha1';
const evictor = 'imperative-eviction.k8s.io/evictor';

/** Seconds without a word after which a responder is passed over. */
const silence = 1200;

/** Seconds until the default responder tries again, doubled each time up to `longest`. */
const backoff = { first: 5, longest: 600 };

type Condition = {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
};
type Metadata = {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly deletionTimestamp?: string;
};
type Target = { readonly pod: { readonly name: string; readonly uid: string } };

export type Pod = {
  readonly metadata: Metadata;
  readonly spec: {
    readonly evictionResponders?: readonly { readonly name: string; readonly priority: number }[];
  };
  readonly status?: { readonly phase?: string };
};
export type Request = {
  readonly metadata: Metadata;
  readonly spec: { readonly requester: string; readonly intent: string; readonly target: Target };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
  };
};
type Step = { readonly name: string; readonly priority: number; readonly state: string };
export type Said = {
  readonly name: string;
  readonly startTime?: string;
  readonly heartbeatTime?: string;
  readonly completionTime?: string;
  readonly expectedCompletionTime?: string;
  readonly message?: string;
};
export type Eviction = {
  readonly metadata: Metadata;
  readonly spec: { readonly target: Target };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly targetResponders?: readonly Step[];
    readonly responders?: readonly Said[];
  };
};

/** One call; `next` says what follows from its answer. */
export type Call = {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body: object;
  readonly next?: (status: number, message: string) => Call;
};

type ControllerInputs = {
  readonly pods: readonly Pod[];
  readonly requests: readonly Request[];
  readonly evictions: readonly Eviction[];
};
type Words = readonly [
  failed: readonly [status: string, reason: string],
  evicted: readonly [status: string, reason: string],
];

const waiting: Words = [
  ['False', 'AwaitingEviction'],
  ['False', 'AwaitingEviction'],
];

function text(now: Temporal.Instant): string {
  return now.round({ smallestUnit: 'second', roundingMode: 'floor' }).toString();
}
function secondsSince(time: string, now: Temporal.Instant): number {
  return (now.epochMilliseconds - Temporal.Instant.from(time).epochMilliseconds) / 1000;
}

function isTrue({ status }: Request | Eviction, type: string): boolean {
  return (
    status?.conditions?.some(
      condition => condition.type === type && condition.status === 'True',
    ) === true
  );
}

/** Nothing more comes of it. */
export function isFinal(one: Request | Eviction): boolean {
  return isTrue(one, 'Failed') || isTrue(one, 'TargetEvicted');
}

function isLive({ metadata, spec }: Request): boolean {
  return metadata.deletionTimestamp === undefined && spec.intent === 'Eviction';
}

function conditionsOf(
  one: Request | Eviction,
  [failed, evicted]: Words,
  now: Temporal.Instant,
): readonly Condition[] {
  return (
    [
      ['Failed', failed],
      ['TargetEvicted', evicted],
    ] as const
  ).map(([type, [status, reason]]) => {
    const before = one.status?.conditions?.find(condition => condition.type === type);
    return {
      type,
      status,
      reason,
      message: '',
      lastTransitionTime: before?.status === status ? before.lastTransitionTime : text(now),
    };
  });
}

function wordsOf({ status }: Eviction): Words {
  const word = (type: string): readonly [string, string] => {
    const condition = status?.conditions?.find(one => one.type === type);
    return condition ? [condition.status, condition.reason] : ['False', 'AwaitingEviction'];
  };
  return [word('Failed'), word('TargetEvicted')];
}

function pathOf(
  plural: string,
  { namespace, name }: { readonly namespace: string; readonly name?: string },
): string {
  return `/apis/${version}/namespaces/${namespace}/${plural}${name === undefined ? '' : `/${name}`}`;
}

/** A patch of the status that loses against whoever has written meanwhile. */
function statusWrite(plural: string, { metadata }: Request | Eviction, status: object): Call {
  return {
    method: 'PATCH',
    path: `${pathOf(plural, metadata)}/status`,
    body: { metadata: { resourceVersion: metadata.resourceVersion }, status },
  };
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function requestWords(request: Request, pod: Pod | undefined, mine: readonly Eviction[]): Words {
  const best =
    mine.find(one => isTrue(one, 'TargetEvicted')) ??
    mine.find(one => !isFinal(one)) ??
    mine.at(-1);
  if (best !== undefined) return wordsOf(best);
  return pod === undefined
    ? [
        ['True', 'EvictionInvalid'],
        ['False', 'EvictionFailed'],
      ]
    : waiting;
}

function requestCalls(
  request: Request,
  pod: Pod | undefined,
  mine: readonly Eviction[],
  now: Temporal.Instant,
): readonly Call[] {
  const { metadata, spec, status } = request;
  if (
    isTrue(request, 'TargetEvicted') ||
    status?.conditions?.some(({ reason }) => reason === 'EvictionInvalid') === true
  )
    return [];
  const needsOne =
    pod !== undefined &&
    isLive(request) &&
    mine.every(one => isFinal(one) && !isTrue(one, 'TargetEvicted'));
  const creation: Call = {
    method: 'POST',
    path: pathOf('evictions', { namespace: metadata.namespace }),
    body: {
      apiVersion: version,
      kind: 'Eviction',
      metadata: {
        namespace: metadata.namespace,
        name: `pod-${mine.length + 1}-${spec.target.pod.name}`,
        labels: { [spec.requester]: 'requester' },
        ownerReferences: [
          { apiVersion: version, kind: 'EvictionRequest', name: metadata.name, uid: metadata.uid },
        ],
      },
      spec: { target: spec.target },
    },
  };
  const conditions = conditionsOf(
    request,
    needsOne ? waiting : requestWords(request, pod, mine),
    now,
  );
  const isSaid =
    status?.observedGeneration === metadata.generation && isSame(status?.conditions, conditions);
  const said = isSaid
    ? []
    : [
        statusWrite('evictionrequests', request, {
          observedGeneration: metadata.generation,
          conditions,
        }),
      ];
  return [...(needsOne ? [creation] : []), ...said];
}

function stepsOf({ status }: Eviction, pod: Pod | undefined): readonly Step[] {
  if (status?.targetResponders !== undefined) return status.targetResponders;
  const named = pod?.spec.evictionResponders ?? [];
  return [...named, { name: evictor, priority: 100 }]
    .toSorted((one, other) => other.priority - one.priority)
    .map(one => ({ ...one, state: 'Inactive' }));
}

/** How the active responder leaves its turn, if it does. */
function leaves(said: Said | undefined, now: Temporal.Instant): string | undefined {
  if (said?.completionTime !== undefined) return 'Completed';
  const heard = said?.heartbeatTime ?? said?.startTime;
  return heard !== undefined && secondsSince(heard, now) >= silence ? 'Interrupted' : undefined;
}

type Turn = { readonly steps: readonly Step[]; readonly words: Words };

function turnOf(
  eviction: Eviction,
  pod: Pod | undefined,
  asked: readonly Request[],
  now: Temporal.Instant,
): Turn {
  const steps = stepsOf(eviction, pod);
  const at = steps.findIndex(({ state }) => state === 'Active');
  const said = eviction.status?.responders?.find(({ name }) => name === steps[at]?.name);
  const become = (state: string, next?: string): readonly Step[] =>
    steps.map((step, index) =>
      index === at
        ? { ...step, state }
        : index === at + 1 && next !== undefined
          ? { ...step, state: next }
          : step,
    );
  const isEnded =
    pod === undefined || pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
  if (isEnded)
    return {
      steps: become(said?.completionTime === undefined ? 'Interrupted' : 'Completed'),
      words: [
        ['False', 'Succeeded'],
        ['True', pod === undefined ? 'PodDeleted' : 'PodTerminal'],
      ],
    };
  if (!asked.some(isLive))
    return {
      steps: become('Canceled'),
      words: [
        ['True', 'CanceledDueToNoRequesters'],
        ['False', 'EvictionFailed'],
      ],
    };
  if (at < 0) return { steps: become('', 'Active'), words: waiting };
  const left = leaves(said, now);
  if (left === undefined) return { steps, words: waiting };
  if (at + 1 < steps.length) return { steps: become(left, 'Active'), words: waiting };
  return {
    steps: become(left),
    words: [
      ['True', 'NoFurtherResponder'],
      ['False', 'EvictionFailed'],
    ],
  };
}

function evictionCalls(
  eviction: Eviction,
  pod: Pod | undefined,
  asked: readonly Request[],
  now: Temporal.Instant,
): readonly Call[] {
  if (isFinal(eviction)) return [];
  const { steps, words } = turnOf(eviction, pod, asked, now);
  const before = eviction.status?.responders ?? [];
  const responders = steps.map(({ name, state }) => {
    const said = before.find(one => one.name === name) ?? { name };
    return state === 'Active' && said.startTime === undefined
      ? { ...said, startTime: text(now) }
      : said;
  });
  const conditions = conditionsOf(eviction, words, now);
  const { targetResponders, conditions: saidBefore } = eviction.status ?? {};
  if (
    isSame(targetResponders, steps) &&
    isSame(before, responders) &&
    isSame(saidBefore, conditions)
  )
    return [];
  return [statusWrite('evictions', eviction, { targetResponders: steps, responders, conditions })];
}

/** What an entry of a responder's own is to say: the others stay as they are. */
export function say(eviction: Eviction, name: string, words: Omit<Said, 'name'>): Call {
  const responders = (eviction.status?.responders ?? []).map(one =>
    one.name === name ? { ...one, ...words } : one,
  );
  return statusWrite('evictions', eviction, { responders });
}

/** Whose turn it is. */
export function activeOf({ status }: Eviction): string | undefined {
  return status?.targetResponders?.find(({ state }) => state === 'Active')?.name;
}

function evictorCalls(
  eviction: Eviction,
  pod: Pod | undefined,
  now: Temporal.Instant,
): readonly Call[] {
  if (
    isFinal(eviction) ||
    activeOf(eviction) !== evictor ||
    pod === undefined ||
    pod.metadata.deletionTimestamp !== undefined
  )
    return [];
  const said = eviction.status?.responders?.find(({ name }) => name === evictor);
  const attempts = Number(/attempts=(\d+)/.exec(said?.message ?? '')?.[1] ?? 0);
  const pause = Math.min(backoff.first * 2 ** (attempts - 1), backoff.longest);
  if (
    attempts > 0 &&
    said?.heartbeatTime !== undefined &&
    secondsSince(said.heartbeatTime, now) < pause
  )
    return [];
  const { namespace, name, uid } = pod.metadata;
  const body = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { namespace, name },
    deleteOptions: { preconditions: { uid } },
  };
  const next = (status: number, message: string): Call => {
    const refused = `eviction refused (attempts=${attempts + 1}): ${message}`;
    return say(eviction, evictor, {
      heartbeatTime: text(now),
      message: status < 300 ? 'the pod has been evicted' : refused,
    });
  };
  return [
    { method: 'POST', path: `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, body, next },
  ];
}

/** What both controllers do at this moment. */
export function controllersAct(
  { pods, requests, evictions }: ControllerInputs,
  now: Temporal.Instant,
): readonly Call[] {
  const byUid = new Map(pods.map(pod => [pod.metadata.uid, pod]));
  const targetOf = ({ spec }: Request | Eviction): string => spec.target.pod.uid;
  return [
    ...requests.flatMap(request => {
      const mine = evictions.filter(one => targetOf(one) === targetOf(request));
      return requestCalls(request, byUid.get(targetOf(request)), mine, now);
    }),
    ...evictions.flatMap(eviction => {
      const asked = requests.filter(one => targetOf(one) === targetOf(eviction));
      const pod = byUid.get(targetOf(eviction));
      return [...evictionCalls(eviction, pod, asked, now), ...evictorCalls(eviction, pod, now)];
    }),
  ];
}
