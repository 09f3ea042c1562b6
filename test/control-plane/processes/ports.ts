import { createServer } from 'node:net';

/**
 * Below the ports that kernels give to outgoing connections (32768 on Linux): one that is free now
 * is not taken by a client a moment later.
 */
const [lowest, highest] = [12_000, 32_000];

const tries = 100;

type Held = { readonly port: number; close(): void };

function isTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}

/** On all addresses, as a program that is told no other listens. */
function hold(port: number): Promise<Held> {
  const { promise, resolve, reject } = Promise.withResolvers<Held>();
  const server = createServer();
  server.once('error', reject);
  server.listen(port, () => resolve({ port, close: () => void server.close() }));
  return promise;
}

async function holdAny(left = tries): Promise<Held> {
  const port = lowest + Math.floor(Math.random() * (highest - lowest));
  try {
    return await hold(port);
  } catch (error) {
    if (left === 0 || !isTaken(error)) throw error;
    return holdAny(left - 1);
  }
}

/**
 * Ports that are free at this moment; all are held until the last is found, so that they differ.
 */
export async function freePorts(count: number): Promise<readonly number[]> {
  const held = await Promise.all(Array.from({ length: count }, () => holdAny()));
  for (const server of held) server.close();
  return held.map(({ port }) => port);
}
