/**
 * Which of several models gets a call. A conversation that a vendor may have cached stays with its model:
 * the choice follows from a digest of the conversation, so that all workers and machines make the same one.
 * Other calls are drawn at random. The models that were not chosen follow as fallbacks.
 */
import type { Parsed } from '../../../core/index.ts';
import { hashConversation, readSession } from '../../shared/routing/conversation.ts';

/** Conversations of fewer bytes are in no vendor's cache. */
const shortest = 4096;

/** A number from 0 to 1 for the call. */
function draw(parsed: Parsed): number {
  const isSticky = parsed.call.size.textBytes >= shortest || readSession(parsed) !== undefined;
  return isSticky
    ? Buffer.from(hashConversation(parsed), 'base64').readUIntBE(0, 6) / 2 ** 48
    : Math.random();
}

/** The same models, the chosen one first. */
export function chooseFirst<Each extends { readonly weight: number }>(
  models: readonly Each[],
  parsed: Parsed,
): readonly Each[] {
  let left = draw(parsed) * models.reduce((sum, { weight }) => sum + weight, 0);
  const chosen = models.find(({ weight }) => (left -= weight) < 0) ?? models.at(-1);
  return chosen ? [chosen, ...models.filter((each) => each !== chosen)] : models;
}
