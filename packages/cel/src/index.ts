export { anyVariables, check, compile, mentions, type Schemas, type Wanted } from './check.ts';
export { evaluate, type Result } from './evaluate/evaluate.ts';
export { authorizer, type Bindings, Lazy, Typed } from './evaluate/scope.ts';
export { parse } from './parse/parse.ts';
export type { Expression } from './parse/tokens.ts';
