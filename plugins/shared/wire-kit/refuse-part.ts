/** Refusals of a call that an encoder cannot fit to its model, because an answer without that content would be worthless. */
import { GatewayError } from '../../../core/index.ts';

/** Throws the refusal of something that a wire cannot carry, naming it as the client wrote it. */
export function refusePart(
  { at }: { readonly at?: string | undefined },
  path: string,
  message: string,
): never {
  throw new GatewayError('unsupported_parameter', message, { param: at ?? path });
}

/** Throws the refusal of a file that another vendor keeps. */
export function refuseFile(block: { readonly at?: string | undefined }, path: string, vendor: string): never {
  return refusePart(
    block,
    path,
    `A file kept by ${vendor} cannot be read by the provider of this model; send its content instead.`,
  );
}
