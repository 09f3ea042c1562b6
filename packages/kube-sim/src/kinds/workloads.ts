import { type JsonObject, matches, readSelector, sameJson } from '@drydock/apimachinery';
import { type Cause, required, wrong } from '../failure.ts';
import { at, type Draft, objects, part, type Stored, strings, text, withMeta } from '../object.ts';
import type { Context, Strategy } from './kind.ts';
import { podSpecCauses, templateDefaults } from './pod-validation.ts';

/**
 * Strategies of the kinds that create pods: pkg/registry/apps and pkg/registry/batch, with the
 * defaults of pkg/apis.
 */

function spec(draft: Draft, changes: JsonObject): Draft {
  return { ...draft, spec: { ...changes, ...part(draft, 'spec') } };
}

function nonNegative(draft: Draft, field: string): readonly Cause[] {
  const value = at(draft, 'spec', field);
  return typeof value === 'number' && value < 0
    ? [wrong(`spec.${field}`, value, 'must be greater than or equal to 0')]
    : [];
}

function isEmpty(selector: JsonObject): boolean {
  return Object.keys(selector).length === 0;
}

/** Returns the errors of the selector, and of the template that it has to match. */
function templateCauses(draft: Draft, restart: readonly string[]): readonly Cause[] {
  const selector = at(draft, 'spec', 'selector');
  const labels = strings(at(draft, 'spec', 'template', 'metadata', 'labels'));
  const causes: Cause[] = [];
  if (selector === undefined || selector === null) causes.push(required('spec.selector'));
  else if (isEmpty(part(draft, 'spec', 'selector')))
    causes.push(wrong('spec.selector', {}, 'empty selector is invalid for deployment'));
  if (!matches(readSelector(selector), labels))
    causes.push(
      wrong(
        'spec.template.metadata.labels',
        at(draft, 'spec', 'template', 'metadata', 'labels'),
        '`selector` does not match template `labels`',
      ),
    );
  return [
    ...causes,
    ...podSpecCauses(part(draft, 'spec', 'template', 'spec'), 'spec.template.spec', restart),
  ];
}

function immutableSelector(draft: Draft, before: Stored): readonly Cause[] {
  return sameJson(at(draft, 'spec', 'selector'), at(before, 'spec', 'selector'))
    ? []
    : [wrong('spec.selector', at(draft, 'spec', 'selector'), 'field is immutable')];
}

function rolling(draft: Draft, field: string, defaults: JsonObject): Draft {
  const given = part(draft, 'spec', field);
  const type = text(given, 'type') || 'RollingUpdate';
  const rollingUpdate =
    type === 'RollingUpdate'
      ? { rollingUpdate: { ...defaults, ...part(given, 'rollingUpdate') } }
      : {};
  return {
    ...draft,
    spec: { ...part(draft, 'spec'), [field]: { ...given, type, ...rollingUpdate } },
  };
}

const always = ['Always'];

/** Prepares an update of the status by the controller; labels and annotations stay unchanged. */
function statusOnly(draft: Draft, before: Stored): Draft {
  return withMeta({ ...draft, spec: before['spec'] }, { labels: before.metadata['labels'] });
}

export const deployments: Strategy = {
  generation: 'counted',
  countsAnnotations: true,
  defaults: draft =>
    rolling(
      templateDefaults(
        spec(draft, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 }),
      ),
      'strategy',
      {
        maxUnavailable: '25%',
        maxSurge: '25%',
      },
    ),
  creating: draft => ({ ...draft, status: {} }),
  updatingStatus: statusOnly,
  validate: draft => [...nonNegative(draft, 'replicas'), ...templateCauses(draft, always)],
  validateUpdate: immutableSelector,
};

export const replicaSets: Strategy = {
  generation: 'counted',
  defaults: draft => templateDefaults(spec(draft, { replicas: 1 })),
  creating: draft => ({ ...draft, status: { replicas: 0 } }),
  updatingStatus: (draft, before) => ({ ...draft, spec: before['spec'] }),
  validate: draft => [...nonNegative(draft, 'replicas'), ...templateCauses(draft, always)],
  validateUpdate: immutableSelector,
};

/** Sets the defaults of claim templates, which are those of claims. */
function claimTemplates(draft: Draft): Draft {
  const given = objects(at(draft, 'spec', 'volumeClaimTemplates'));
  if (given.length === 0) return draft;
  const volumeClaimTemplates = given.map(one => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    ...one,
    spec: { volumeMode: 'Filesystem', ...part(one, 'spec') },
    status: { phase: 'Pending', ...part(one, 'status') },
  }));
  return { ...draft, spec: { ...part(draft, 'spec'), volumeClaimTemplates } };
}

export const statefulSets: Strategy = {
  generation: 'counted',
  defaults: given => {
    const draft = claimTemplates(given);
    return rolling(
      templateDefaults(
        spec(draft, {
          replicas: 1,
          podManagementPolicy: 'OrderedReady',
          revisionHistoryLimit: 10,
          persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
        }),
      ),
      'updateStrategy',
      { partition: 0, maxUnavailable: 1 },
    );
  },
  creating: draft => ({ ...draft, status: { replicas: 0, availableReplicas: 0 } }),
  updatingStatus: (draft, before) => ({ ...draft, spec: before['spec'] }),
  validate: draft => [...nonNegative(draft, 'replicas'), ...templateCauses(draft, always)],
};

/** Strategy of the revisions of StatefulSets and DaemonSets: the data is immutable. */
export const controllerRevisions: Strategy = {
  generation: 'none',
  validateUpdate: (draft, before) =>
    sameJson(draft['data'], before['data'])
      ? []
      : [wrong('data', draft['data'], 'field is immutable')],
};

/** Annotation with the generation of a DaemonSet's template. */
const templateGeneration = 'deprecated.daemonset.template.generation';

const noDaemons = {
  currentNumberScheduled: 0,
  numberMisscheduled: 0,
  desiredNumberScheduled: 0,
  numberReady: 0,
};

export const daemonSets: Strategy = {
  generation: 'counted',
  defaults: draft =>
    rolling(templateDefaults(spec(draft, { revisionHistoryLimit: 10 })), 'updateStrategy', {
      maxUnavailable: 1,
      maxSurge: 0,
    }),
  creating: draft =>
    withMeta(
      { ...draft, status: noDaemons },
      {
        annotations: {
          [templateGeneration]: '1',
          ...strings(at(draft, 'metadata', 'annotations')),
        },
      },
    ),
  updating: (draft, before) => {
    const counted = Number(before.metadata.annotations?.[templateGeneration] ?? 1);
    const isSame = sameJson(at(draft, 'spec', 'template'), at(before, 'spec', 'template'));
    const annotations = {
      ...strings(at(draft, 'metadata', 'annotations')),
      [templateGeneration]: String(isSame ? counted : counted + 1),
    };
    return withMeta(draft, { annotations });
  },
  updatingStatus: (draft, before) => ({ ...draft, spec: before['spec'] }),
  validate: draft => templateCauses(draft, always),
  validateUpdate: immutableSelector,
};

/**
 * Sets the selector by the Job's own UID, unless it is manual. Upstream: generateSelector of
 * pkg/registry/batch/job.
 */
function ownSelector(job: Draft, { uid }: Context): Draft {
  if (at(job, 'spec', 'manualSelector') === true) return job;
  const name = text(job, 'metadata', 'name');
  const labels = {
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
  };
  const template = part(job, 'spec', 'template');
  const metadata = part(template, 'metadata');
  return withMeta(
    {
      ...job,
      spec: {
        ...part(job, 'spec'),
        manualSelector: false,
        selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } },
        template: {
          ...template,
          metadata: { ...metadata, labels: { ...part(metadata, 'labels'), ...labels } },
        },
      },
    },
    { labels: { ...part(job, 'metadata', 'labels'), ...labels } },
  );
}

/** Gives a Job without labels those of its template. */
function labelled(draft: Draft): Draft {
  return Object.keys(part(draft, 'metadata', 'labels')).length > 0
    ? draft
    : withMeta(draft, { labels: at(draft, 'spec', 'template', 'metadata', 'labels') });
}

function jobDefaults(draft: Draft): Draft {
  const job = labelled(templateDefaults(draft));
  const given = part(job, 'spec');
  const [completions, parallelism] = [given['completions'], given['parallelism']];
  return spec(job, {
    // Neither given: one pod, once. Only parallelism given: a work queue, whose end the pods
    // decide.
    ...(completions === undefined && parallelism === undefined
      ? { completions: 1, parallelism: 1 }
      : { parallelism: 1 }),
    backoffLimit: 6,
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: 'TerminatingOrFailed',
  });
}

export const jobs: Strategy = {
  generation: 'counted',
  defaults: jobDefaults,
  creating: (draft, context) => ({ ...ownSelector(draft, context), status: {} }),
  updatingStatus: (draft, before) => ({ ...draft, spec: before['spec'] }),
  validate: draft => [
    ...nonNegative(draft, 'parallelism'),
    ...nonNegative(draft, 'completions'),
    ...templateCauses(draft, ['Always', 'OnFailure', 'Never']),
    ...(at(draft, 'spec', 'template', 'spec', 'restartPolicy') === 'Always'
      ? [required('spec.template.spec.restartPolicy', 'valid values: "OnFailure", "Never"')]
      : []),
  ],
  validateUpdate: immutableSelector,
};
