export { creation, maintenance, medik8s, node, object, own } from '../admission/testing/make.ts';
export { MemoryServer } from '../admission/testing/server.ts';
export { budget, shop } from './drill.ts';
export { FakeCluster, uidOf } from './fake-cluster.ts';
export { FakeLog, FakeMeter, FakeRecorder, response, ScriptedApi, settle } from './fakes.ts';
export { machineHarness } from './machine-harness.ts';
