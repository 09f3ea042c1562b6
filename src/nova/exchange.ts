import { readFileSync } from 'node:fs';
import { errorText } from '../support/error-text.ts';
import { createTransport, type HttpTransport } from '../support/http-exchange.ts';
import { NovaConfigError } from './config/config.ts';

export type TlsOptions = {
  /** A file with the authorities to trust, in place of the system's. */
  readonly caFile?: string;
  /** Trust any certificate. */
  readonly insecure?: boolean;
};

const readCa = (file: string): Buffer => {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new NovaConfigError(`cannot read the CA file ${file}: ${errorText(error)}`, {
      cause: error,
    });
  }
};

/** Larger answers than this are refused: pages are asked for in sizes that stay far below. */
const maxBytes = 64 * 1024 * 1024;

/** Speaks HTTP and HTTPS, over connections that are kept. Throws a NovaConfigError for a CA file that cannot be read. */
export const httpExchange = ({ caFile, insecure = false }: TlsOptions): HttpTransport =>
  createTransport({ ...(caFile !== undefined && { ca: readCa(caFile) }), insecure, mostBytes: maxBytes, keepAlive: true });
