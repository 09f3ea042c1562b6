import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { at } from '@drydock/kube-sim';
import { grantedRights, rightFor } from '../security/operator-rights.ts';
import { play } from './play.ts';
import { generate } from './story/generate.ts';
import type { Story } from './story/story.ts';

/**
 * The operator has no right that it does not use: what the shipped roles give is compared with what
 * it asks for in stories.
 */

const root = join(import.meta.dirname, '..', '..');

/** Rights that stories do not show, with the file and the words in it that need them. */
type Elsewhere = {
  readonly rights: readonly string[];
  readonly because: string;
  readonly file: string;
  readonly words: string;
};

function reads(...resources: readonly string[]): readonly string[] {
  return resources.flatMap(resource => ['get', 'list', 'watch'].map(verb => `${verb} ${resource}`));
}

const elsewhere: readonly Elsewhere[] = [
  {
    rights: ['create events', 'patch events'],
    because: 'stories do without Events',
    file: 'packages/kube-client/src/events/events.ts',
    words: 'body: repeatPatch(',
  },
  {
    rights: ['update leases.coordination.k8s.io'],
    because: 'in stories nobody has to become the leader',
    file: 'packages/kube-client/src/leader/lease-lock.ts',
    words: "this.#call('PUT'",
  },
  {
    rights: [
      'create tokenreviews.authentication.k8s.io',
      'create subjectaccessreviews.authorization.k8s.io',
    ],
    because: 'nobody asks for metrics, nor for what needs a right of its own at the webhook',
    file: 'packages/apimachinery/src/status.ts',
    words: "TokenReview: 'authentication.k8s.io',\n  SubjectAccessReview: 'authorization.k8s.io',",
  },
  {
    rights: ['get secrets', 'create secrets', 'patch secrets'],
    because: 'the certificate of the webhook',
    file: 'packages/operator/src/admission/certificates/self-made.ts',
    words: "contentType: 'application/merge-patch+json',",
  },
  {
    rights: [
      ...reads('validatingwebhookconfigurations.admissionregistration.k8s.io'),
      'patch validatingwebhookconfigurations.admissionregistration.k8s.io',
    ],
    because: 'the certificate authority in the configuration of the webhook',
    file: 'packages/operator/src/admission/certificates/ca-bundle-injector.ts',
    words: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  },
  {
    rights: ['get configmaps', 'get infrastructures.config.openshift.io'],
    because: 'the region of machines, of clouds that are asked over a network',
    file: 'packages/operator/src/scanner.ts',
    words: '/api/v1/namespaces/kube-system/configmaps/cluster-config-v1',
  },
  {
    rights: ['get persistentvolumeclaims'],
    because: 'no pod of a story has a volume',
    file: 'packages/operator/src/node/take-snapshot.ts',
    words: "'persistentvolumeclaims'",
  },
  {
    rights: reads(
      'controlplanemachinesets.machine.openshift.io',
      'machinedeployments.cluster.x-k8s.io',
      'kubeadmcontrolplanes.controlplane.cluster.x-k8s.io',
    ),
    because: 'the simulated machine APIs have machines and MachineSets alone',
    file: 'packages/operator/src/machines/machine-cache.ts',
    words: "plural: 'kubeadmcontrolplanes'",
  },
  {
    rights: ['patch machinedeployments.cluster.x-k8s.io'],
    because: 'the same: MachineSets are made larger there',
    file: 'packages/core/src/machine/writes.ts',
    words: "'restore the replica count'",
  },
  {
    rights: ['patch nodenotices.drydock.dev'],
    because: 'no story has agents',
    file: 'packages/core/src/machine/writes.ts',
    words: "'report to the agent of the node that the node is drained'",
  },
  {
    rights: ['delete nodenotices.drydock.dev'],
    because: 'no story has agents',
    file: 'packages/operator/src/machines/event-source-reconciler.ts',
    words: "'forget the notice of a node that is gone'",
  },
  {
    rights: ['delete maintenanceplanrecords.drydock.dev'],
    because: 'no plan of a story has so many runs',
    file: 'packages/core/src/plan/writes.ts',
    words: "'delete the record of an old run'",
  },
  {
    rights: ['update virtualmachineinstances.subresources.kubevirt.io/evacuate'],
    because: 'the API server asks for it where evacuate/cancel is called',
    file: 'packages/core/src/vm/vm-pod.ts',
    words: '/evacuate/cancel',
  },
  {
    rights: [
      'delete-pods maintenances.drydock.dev',
      'shut-down-vms maintenances.drydock.dev',
      'declare-urgent machinemaintenances.machinemaintenance.managed.openshift.io',
      'delete-pods machinemaintenances.machinemaintenance.managed.openshift.io',
      'shut-down-vms machinemaintenances.machinemaintenance.managed.openshift.io',
    ],
    because: 'policies ask for them when such a field is written; stories have no policies',
    file: 'packages/apis/src/admission-rules/consent.ts',
    words: "| 'release-during-work'",
  },
  {
    rights: ['be-part maintenances.drydock.dev'],
    because: 'a policy asks for it when the Maintenance of a machine or of a plan is made',
    file: 'deploy/admission-policies/maintenance-part.yaml',
    words: "check('be-part')",
  },
];

/** Whoever may list a kind has all of each object: to get one by its name is no more. */
function isWithin(used: ReadonlySet<string>, right: string): boolean {
  return used.has(right) || (right.startsWith('get ') && used.has(right.replace('get ', 'list ')));
}

const excused = new Set(elsewhere.flatMap(({ rights }) => rights));

/** More than enough stories: those of the machine APIs, of VMs and of responders are a few each. */
const limit = 300;

/**
 * Beyond those only stories of plans that replace machines: what is done in one of them is rare.
 */
const maxOfAll = 2000;

function isRare({ plans }: Story): boolean {
  return plans.some(({ spec }) => at(spec, 'work', 'replace') !== undefined);
}

/** What the operator asks for in stories, until nothing is missing any more. */
async function usedIn(wanted: readonly string[]): Promise<ReadonlySet<string>> {
  const used = new Set<string>();
  for (let seed = 1; seed <= maxOfAll && !wanted.every(right => isWithin(used, right)); seed += 1) {
    const story = generate(seed);
    if (seed <= limit || isRare(story))
      await play(story, undefined, (method, path) => used.add(rightFor(method, path) ?? ''));
  }
  return used;
}

test('the operator uses every right that the shipped roles give to it', async () => {
  const granted = grantedRights();
  assert.ok(granted.length > 100, `${granted.length} rights`);
  const wanted = granted.filter(right => !excused.has(right));
  const used = await usedIn(wanted);
  assert.deepEqual(
    wanted.filter(right => !isWithin(used, right)),
    [],
  );
  // What stories show needs no excuse.
  assert.deepEqual(
    [...excused].filter(right => used.has(right)),
    [],
  );
});

test('every right that stories do not show is given, and the code that needs it is there', () => {
  const granted = grantedRights();
  assert.deepEqual(
    [...excused].filter(right => !granted.includes(right)),
    [],
  );
  // However the formatter breaks the lines.
  const bare = (text: string): string => text.replace(/\s+/g, '');
  for (const { file, words } of elsewhere)
    assert.ok(
      bare(readFileSync(join(root, file), 'utf8')).includes(bare(words)),
      `${file}: ${words}`,
    );
});

test('the right that a call needs', () => {
  const calls = [
    ['GET', '/api/v1/nodes', 'list nodes'],
    ['GET', '/api/v1/namespaces/shop', 'get namespaces'],
    ['DELETE', '/api/v1/nodes/n1', 'delete nodes'],
    ['PATCH', '/api/v1/nodes/n1/status', 'patch nodes/status'],
    ['POST', '/api/v1/namespaces/shop/pods/web/eviction', 'create pods/eviction'],
    ['WATCH', '/apis/apps/v1/namespaces/shop/daemonsets', 'watch daemonsets.apps'],
    ['GET', '/apis/apps/v1', undefined],
  ] as const;
  assert.deepEqual(
    calls.map(([method, path]) => rightFor(method, path)),
    calls.map(([, , right]) => right),
  );
});
