/** Errors of plugins, with their names, and why something failed in one line. */

export class PluginError extends Error {
  readonly plugin: string;

  constructor(plugin: string, message: string, cause?: unknown) {
    super(`plugin "${plugin}": ${message}`, { cause });
    this.name = 'PluginError';
    this.plugin = plugin;
  }
}

/** The gateway's own code: never reported as the place of a plugin's bug. */
const core = new URL('..', import.meta.url).href;

export function isSlip(error: unknown): error is Error {
  return error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
}

/** Why something failed, in one line. For a programming error it names the place. */
export function describeReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const frame = isSlip(error)
    ? error.stack
        ?.split('\n')
        .find((line) => line.startsWith('    at ') && !line.includes(core))
        ?.trim()
    : undefined;
  return frame === undefined ? error.message : `${error.message}, ${frame.replace(/\?reading=\d+/, '')}`;
}

export function toPluginError(plugin: string, error: unknown): PluginError {
  return error instanceof PluginError ? error : new PluginError(plugin, describeReason(error), error);
}
