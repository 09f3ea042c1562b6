import {
  maintenanceApprovalSpec,
  maintenancePlanRecordSpec,
  maintenancePlanSpec,
  maintenancePlanStatus,
} from '@drydock/apis/schema';
import { age, type Kind } from './crd-kind.ts';

/** The kinds about plans. */

function text(name: string, jsonPath: string) {
  return { name, type: 'string', jsonPath };
}

export const planKinds: readonly Kind[] = [
  {
    group: 'drydock.dev',
    kind: 'MaintenancePlan',
    plural: 'maintenanceplans',
    singular: 'maintenanceplan',
    shortNames: ['mplan'],
    description:
      'MaintenancePlan takes many nodes out of service within limits, works on each, and verifies that each is done.',
    versions: [
      {
        name: 'v1alpha1',
        storage: true,
        spec: maintenancePlanSpec,
        status: maintenancePlanStatus,
        required: ['spec'],
        columns: [
          text('Phase', '.status.phase'),
          text('Stage', '.status.run.stage'),
          text('Done', '.status.nodes.progress'),
          { name: 'Failed', type: 'integer', jsonPath: '.status.nodes.failed' },
          // No date: kubectl writes those as an age, and of a time to come <invalid>.
          text('ETA', '.status.estimatedCompletionTime'),
          text('Waiting', '.status.waitingFor'),
          { ...text('Message', '.status.message'), priority: 1 },
          age,
        ],
        selectable: ['.status.phase'],
      },
    ],
  },
  {
    group: 'drydock.dev',
    kind: 'MaintenancePlanRecord',
    plural: 'maintenanceplanrecords',
    singular: 'maintenanceplanrecord',
    shortNames: [],
    description:
      'MaintenancePlanRecord holds the verdicts of up to 500 nodes in one run of a MaintenancePlan.',
    versions: [
      {
        name: 'v1alpha1',
        storage: true,
        spec: maintenancePlanRecordSpec,
        required: ['spec'],
        columns: [
          text('Plan', '.spec.planName'),
          text('Run', '.spec.runID'),
          { name: 'Slice', type: 'integer', jsonPath: '.spec.slice' },
          age,
        ],
        selectable: ['.spec.planName'],
      },
    ],
  },
  {
    group: 'drydock.dev',
    kind: 'MaintenanceApproval',
    plural: 'maintenanceapprovals',
    singular: 'maintenanceapproval',
    shortNames: [],
    description: 'MaintenanceApproval lets a MaintenancePlan proceed.',
    versions: [
      {
        name: 'v1alpha1',
        storage: true,
        spec: maintenanceApprovalSpec,
        required: ['spec'],
        columns: [
          text('Plan', '.spec.planName'),
          text('Run', '.spec.runID'),
          text('Stage', '.spec.stage'),
          age,
        ],
        selectable: ['.spec.planName'],
      },
    ],
  },
];
