export { AdmissionHandler } from './admission-handler.ts';
export { followCertificate } from './certificates/follow.ts';
export { makeAuthority, makeServing } from './certificates/make.ts';
export { allowed, type Review } from './review.ts';
export { serveWebhook } from './server.ts';
