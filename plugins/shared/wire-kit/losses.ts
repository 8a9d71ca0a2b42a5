/**
 * Reports what an encoder cannot express: as a loss, or as a refusal if an answer without it would be
 * worthless.
 */
import {
  GatewayError,
  type Block,
  type BlockOf,
  type Loss,
  type LossCode,
  type ReplyContext,
  type EventOf,
  type Turn,
} from '../../../core/index.ts';
import type { Fields } from './vendor-bag.ts';

/** Reports a loss: its canonical path, a reason, and its kind (by default the wire has no such field). */
export type Lose = (path: string, reason: string, code?: LossCode) => void;

/** Returns a list of losses and the function that adds to it. */
export function collectLosses(): { readonly losses: Loss[]; readonly lose: Lose } {
  const losses: Loss[] = [];
  return { losses, lose: (path, reason, code = 'unsupported') => void losses.push({ path, reason, code }) };
}

/** Reports sealed state that another vendor than the model's made. */
export function loseSeal(path: string, lose: Lose): void {
  lose(`${path}.opaque`, 'sealed state is only given back to the vendor it came from', 'state');
}

/** Reports a block of reasoning that another vendor than the model's sealed, or an unknown one. */
export function loseThoughts(path: string, lose: Lose): void {
  lose(path, 'reasoning is only given back to the vendor it came from', 'state');
}

/** What only its own protocol has, which writes it unchanged. Any other reports it, unless it is repeated. */
export function encodeForeign(
  { protocol, value, repeated: isRepeated }: BlockOf<'foreign'>,
  path: string,
  own: string,
  lose: Lose,
): Fields[] {
  if (protocol === own) return [value];
  if (!isRepeated) lose(path, `only ${protocol} has it`, 'vendor');
  return [];
}

/** Fields of a whole reply that a client may need. The others concern our account, or repeat the request. */
const replyFields: ReadonlySet<string> = new Set(['moderation', 'container', 'context_management']);

/** Fields of a candidate's end that are not lost: annotations, or the cost of the call, carry the same. */
const carriedElsewhere = new Set(['groundingMetadata', 'citationMetadata', 'service_tier']);

/** Reports the fields of a reply, or of a candidate's end, that exist only in the provider's protocol. */
export function loseForeignFields(
  { reportLoss }: Pick<ReplyContext, 'reportLoss'>,
  { type, vendor = {} }: EventOf<'response-start' | 'finish'>,
  protocol: string,
): void {
  for (const [owner, fields] of Object.entries(vendor)) {
    if (owner === protocol) continue;
    for (const name of Object.keys(fields)) {
      const matters = type === 'finish' ? !carriedElsewhere.has(name) : replyFields.has(name);
      if (matters) reportLoss?.(name, `only ${owner} has it`);
    }
  }
}

/** Refuses the call because of the field that is named as the client wrote it. */
export function refuse(param: string, message: string): never {
  throw new GatewayError('unsupported_parameter', message, { param });
}

interface Placed {
  readonly at?: string | undefined;
}

/** Refuses the call because a wire cannot carry something. */
export function refusePart({ at }: Placed, path: string, message: string): never {
  return refuse(at ?? path, message);
}

/** Refuses content of a user's message without a meaning here: an answer would be worthless. */
export function refuseUnknown(block: Block, protocol: string, path: string): void {
  if (block.type !== 'foreign' || block.protocol === protocol || !block.needed) return;
  const { at = path, value } = block;
  const named = typeof value.type === 'string' ? ` of type "${value.type.slice(0, 60)}"` : '';
  refuse(
    at,
    `"${at}"${named} means nothing outside ${block.protocol}, and the provider of this model is reached by ` +
      'another protocol: change it, or leave it out.',
  );
}

/** Refuses a conversation of which nothing is left to send, by its unknown part if it has one. */
export function refuseEmpty(turns: readonly Turn[], protocol: string): never {
  for (const block of turns.flatMap(({ blocks }) => blocks)) refuseUnknown(block, protocol, 'turns');
  return refusePart(
    turns.at(-1) ?? {},
    'turns',
    'The provider of this model refuses a conversation without content: send a text that is not empty.',
  );
}

/** Refuses the call because it names a file that another vendor keeps. */
export function refuseFile(block: Placed, path: string, vendor: string): never {
  return refusePart(
    block,
    path,
    `A file kept by ${vendor} cannot be read by the provider of this model; send its content instead.`,
  );
}
