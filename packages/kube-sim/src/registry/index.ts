export { budgetsOver } from './budgets-over.ts';
export { newUid, type RegistryContext } from './context.ts';
