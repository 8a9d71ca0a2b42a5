/** The error of a refused body. */
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
