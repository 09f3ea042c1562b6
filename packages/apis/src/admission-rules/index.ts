export {
  type AdmissionKind,
  admissionKinds,
  isAdmissionKind,
  isPlanKind,
  type WebhookEntry,
  type WebhookKind,
  webhookConfiguration,
  webhookKinds,
  webhooks,
  webhookTimeoutSeconds,
} from './admission.ts';
export { consentPolicies, isFreeField, type Right, rightsFor, withoutRight } from './consent.ts';
