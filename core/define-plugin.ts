/**
 * `definePlugin` infers the options of a plugin from their zod schema and checks them where the
 * configuration is written.
 */
import { z } from 'zod';
import { type Host, pluginInterface, type Plugin, type PluginFactory } from './plugin.ts';
import { describeFaults } from './util/option-errors.ts';
import { PluginError } from './util/plugin-error.ts';

interface PluginParts<Options extends z.ZodType> {
  name: string;
  options: Options;
  apply(host: Host, options: z.output<Options>): void;
  supervise?: Plugin['supervise'];
}

const noOptions = z.strictObject({});

/** Makes a plugin, by default without options. The factory throws a `PluginError` naming each wrong one. */
export function definePlugin(
  parts: Omit<PluginParts<typeof noOptions>, 'options'> & { options?: undefined },
): PluginFactory<typeof noOptions>;

export function definePlugin<Options extends z.ZodType>(parts: PluginParts<Options>): PluginFactory<Options>;

export function definePlugin(
  parts: Omit<PluginParts<z.ZodAny>, 'options'> & { options?: z.ZodType | undefined },
): PluginFactory<z.ZodType> {
  const { name, options: schema = noOptions, supervise } = parts;
  const createPlugin = (options?: unknown): Plugin => {
    const checked = schema.safeParse(options ?? {});
    if (!checked.success) throw new PluginError(name, describeFaults(schema, checked.error), checked.error);
    return {
      name,
      interface: pluginInterface,
      options: { schema, given: options },
      apply: (host) => parts.apply(host, checked.data),
      ...(supervise ? { supervise } : {}),
    };
  };
  return Object.assign(createPlugin, { options: schema });
}
