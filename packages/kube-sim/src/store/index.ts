export { MemoryStore } from './memory-store.ts';
export type { Resource, Store, StoreChange } from './store.ts';
