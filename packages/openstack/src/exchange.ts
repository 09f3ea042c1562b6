import { readFileSync } from 'node:fs';
import { createTransport, errorText, type HttpTransport } from '@drydock/utils';
import { NovaConfigError } from './config/config.ts';

export type TlsOptions = {
  /** File with the authorities to trust, instead of the system's. */
  readonly caFile?: string;
  /** Whether any certificate is trusted. */
  readonly insecure?: boolean;
};

function readCa(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new NovaConfigError(`cannot read the CA file ${file}: ${errorText(error)}`, {
      cause: error,
    });
  }
}

/** Limit of a response in bytes; the requested pages stay far below. */
const maxBytes = 64 * 1024 * 1024;

/**
 * Returns a transport for HTTP and HTTPS, with keep-alive. Throws a NovaConfigError for a CA file
 * that cannot be read.
 */
export function httpExchange({ caFile, insecure = false }: TlsOptions): HttpTransport {
  return createTransport({
    ...(caFile !== undefined && { ca: readCa(caFile) }),
    insecure,
    mostBytes: maxBytes,
    keepAlive: true,
  });
}
