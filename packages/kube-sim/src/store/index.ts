export type { Resource, Store, StoreChange } from './store.ts';
