/** What tests of wrong fields share: the error of a refused body, and rows about one part of a body. */
import { isGatewayError, type GatewayError } from '../../core/index.ts';

/** The error with which the gateway refuses. Every other outcome fails the test. */
export function expectRefusal(run: () => unknown): GatewayError {
  try {
    run();
  } catch (error) {
    if (isGatewayError(error)) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

type Fields = Record<string, unknown>;

/** Puts each value into a body, and the body's path before the field that the error names. */
export function wrapRows<Rest extends unknown[]>(
  wrap: (value: unknown) => Fields,
  path: string,
  rows: [value: unknown, param: string, ...Rest][],
): [fields: Fields, param: string, ...Rest][] {
  return rows.map(([value, param, ...rest]) => [wrap(value), `${path}${param}`, ...rest]);
}
