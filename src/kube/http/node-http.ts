/**
 * node:http without what comes with it: an import of its names makes Node load undici for names that nobody asks for, which takes 10 ms of
 * every start of a command.
 */
export const http = process.getBuiltinModule('node:http');
