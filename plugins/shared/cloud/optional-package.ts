/**
 * Packages that only one cloud needs. They are loaded at first use, and an error names one that is not
 * installed.
 */
import { GatewayError } from '../../../core/index.ts';

/** Loads what `load` imports. If the package is missing, throws an error that says how to install it. */
export async function loadOptional<Module>(
  provider: string,
  name: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    const isMissing =
      error instanceof Error &&
      'code' in error &&
      error.code === 'ERR_MODULE_NOT_FOUND' &&
      error.message.includes(`'${name}'`);
    if (isMissing)
      throw new GatewayError(
        'upstream_failed',
        `The provider "${provider}" needs the package "${name}": npm install ${name}`,
        { cause: error },
      );
    throw error;
  }
}
