/**
 * The module node:http without an import: importing its names makes Node load undici for names that
 * Drydock does not use, which takes 10 ms of every start of a command.
 */
export const http = process.getBuiltinModule('node:http');
