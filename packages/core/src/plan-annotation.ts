/**
 * Annotation on a Maintenance and on a pod, and label of a pod: the name of the MaintenancePlan
 * that it is part of.
 */
export const planAnnotation = 'drydock.dev/maintenance-plan';
