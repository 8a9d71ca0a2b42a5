/**
 * Reports what an encoder cannot express: as a loss, or as a refusal if an answer without it would be worthless.
 */
import {
  GatewayError,
  type CanonicalEvent,
  type Loss,
  type LossCode,
  type ReplyContext,
} from '../../../core/index.ts';

/** Takes the canonical path of what is lost, a short reason, and the kind of loss where the wire is not the cause. */
export type Lose = (path: string, reason: string, code?: LossCode) => void;

/** A list of losses, and a function that adds to it. */
export function noteLosses(): { readonly losses: Loss[]; readonly lose: Lose } {
  const losses: Loss[] = [];
  return { losses, lose: (path, reason, code = 'unsupported') => void losses.push({ path, reason, code }) };
}

/** Fields of a vendor's whole reply that a caller may need. The others are about our account, or repeat the request. */
const ofReplies: ReadonlySet<string> = new Set(['moderation', 'container', 'context_management']);

/** Tells as lost what another protocol's vendor said about the whole reply, where the client's protocol has no field for it. */
export function loseForeignStart(
  { lost }: Pick<ReplyContext, 'lost'>,
  { vendor = {} }: Extract<CanonicalEvent, { type: 'response-start' }>,
  protocol: string,
): void {
  for (const [owner, fields] of Object.entries(vendor)) {
    if (owner === protocol) continue;
    for (const name of Object.keys(fields)) if (ofReplies.has(name)) lost?.(name, `only ${owner} has it`);
  }
}

/** Fields of a candidate's end that are not lost: annotations, or the cost of the call, say the same. */
const toldElsewhere = new Set(['groundingMetadata', 'citationMetadata', 'service_tier']);

/** Tells as lost what another protocol's vendor said at the end of a candidate, where the client's protocol has no field for it. */
export function loseForeign(
  { lost }: { readonly lost?: ReplyContext['lost'] | undefined },
  { vendor = {} }: Extract<CanonicalEvent, { type: 'finish' }>,
  protocol: string,
): void {
  for (const [owner, fields] of Object.entries(vendor)) {
    if (owner === protocol) continue;
    for (const name of Object.keys(fields))
      if (!toldElsewhere.has(name)) lost?.(name, `only ${owner} has it`);
  }
}

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
