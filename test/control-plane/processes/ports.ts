import { createServer } from 'node:net';

const listen = (): Promise<{ readonly port: number; close(): void }> => {
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly port: number; close(): void }>();
  const server = createServer();
  server.once('error', reject);
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address === null || typeof address === 'string') return reject(new Error('no port'));
    resolve({ port: address.port, close: () => void server.close() });
  });
  return promise;
};

/** Ports that are free at this moment; all are held until the last is found, so that they differ. */
export const freePorts = async (count: number): Promise<readonly number[]> => {
  const held = await Promise.all(Array.from({ length: count }, listen));
  for (const server of held) server.close();
  return held.map(({ port }) => port);
};
