export { AdmissionHandler } from './admission-handler.ts';
export { makeAuthority, makeServing } from './certificates/plan.ts';
export { followCertificate } from './certificates/self-made.ts';
export { allowed, type Review } from './review.ts';
export { serveWebhook } from './server.ts';
