// Loaded into a program with --import: when the process that started it is gone, its standard input
// ends, and it ends too.
process.stdin.on('end', () => process.kill(process.pid, 'SIGKILL')).resume();
process.stdin.unref();
