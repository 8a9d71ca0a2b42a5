/**
 * Flags about a model that only one protocol understands, in `capabilities.wire[protocol]`. Core hands them
 * on; the protocol says which there are, checks them and reads them.
 */
import { z } from 'zod';
import type { Capabilities, Model } from '../model-facts.ts';
import type { Provider } from '../provider.ts';

export const wireSchema = z.record(z.string(), z.record(z.string(), z.unknown())).default({});

/** By a protocol's name, the schema of its flags in `capabilities.wire`. */
export type ProtocolFlags = ReadonlyMap<string, z.ZodType>;

/**
 * Makes a function that returns the flags in `capabilities.wire[protocol]`, with the schema's defaults. It
 * checks each model's flags once. Throws a ZodError if they are wrong.
 */
export function createFlagReader<Flags>(
  protocol: string,
  schema: z.ZodType<Flags>,
): (capabilities: Capabilities) => Flags {
  const known = new WeakMap<Capabilities, Flags>();
  return (capabilities) => {
    let flags = known.get(capabilities);
    if (flags === undefined) {
      flags = schema.parse(capabilities.wire[protocol] ?? {});
      known.set(capabilities, flags);
    }
    return flags;
  };
}

type Flags = Readonly<Record<string, unknown>>;

/** A model's own flags replace the file's defaults. Those of `wire` do so one by one. */
export function mergeFlags(defaults: Flags, own: Flags): Flags {
  const wires = [wireSchema.parse(defaults.wire), wireSchema.parse(own.wire)];
  const protocols = new Set(wires.flatMap((wire) => Object.keys(wire)));
  const wire = Object.fromEntries(
    [...protocols].map((protocol) => [protocol, Object.assign({}, ...wires.map((each) => each[protocol]))]),
  );
  return { ...defaults, ...own, wire };
}

/** The catalogue file that a model's flags come from. */
const fileOfFlags = new WeakMap<Capabilities['wire'], string>();

/** Keeps the file a model was read from, so that an error can name it. */
export function rememberFile({ capabilities }: Model, file: URL): void {
  fileOfFlags.set(capabilities.wire, file.pathname);
}

/**
 * Checks a model's flags with the schemas of the installed protocols. Throws an Error that names the file,
 * the model and the flag. Skips protocols that are not installed, if the provider speaks them.
 */
export function checkFlags(provider: Provider, { id, capabilities }: Model, protocols: ProtocolFlags): void {
  const { wire } = capabilities;
  for (const [protocol, flags] of Object.entries(wire)) {
    const schema = protocols.get(protocol);
    const isUnknown = !schema && !Object.hasOwn(provider.endpoints, protocol);
    const checked = schema?.safeParse(flags);
    const fault = isUnknown ? 'there is no such protocol' : checked?.error && joinIssues(checked.error);
    if (fault === undefined) continue;
    const source = fileOfFlags.get(wire) ?? `provider "${provider.name}"`;
    throw new Error(`${source}: model "${id}": capabilities.wire["${protocol}"]: ${fault}`);
  }
}

/** All errors in one line. */
export function joinIssues({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => [...path, message].join(': ')).join('; ');
}
