export { type ContractSite, novaContract } from './contract.ts';
export { makeHarness } from './harness.ts';
