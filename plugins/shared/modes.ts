/**
 * How callers ask a vendor to be served otherwise than usual, and how it tells that it did: OpenAI and Google by a tier,
 * Anthropic by a speed and a place. One that had no room for it says so, and charges what it always does.
 */
import { ratesIn, usualMode, type ClientCall, type Mode, type Model, type Usage } from '../../core/index.ts';

/** Words for what costs what a price says, or less; any other is a way of its own to be served. */
const usual: ReadonlySet<string> = new Set([
  'auto', 'default', 'standard', 'standard_only', 'unspecified', 'flex', 'scale', 'batch', 'on_demand', 'deferred', 'global', 'not_available', '',
]);

/** What a price calls the same thing under several words. */
const names: ReadonlyMap<string, string> = new Map([['priority', 'fast']]);

function modeOf(word: unknown): string | undefined {
  if (typeof word !== 'string') return undefined;
  const lower = word.toLowerCase();
  return usual.has(lower) ? undefined : (names.get(lower) ?? lower);
}

/** Passed the fields that can ask for it, with what they say, the way that is named first in a price first. */
export function askedModes(fields: Readonly<Record<string, unknown>>): Mode[] {
  return Object.entries(fields).flatMap(([field, word]) => {
    const name = modeOf(word);
    return name === undefined ? [] : [{ name, field }];
  });
}

/** Passed what the vendor tells by the fields that ask for it, and the call; what neither speaks of is told nothing of. */
export function servedMode(words: Readonly<Record<string, unknown>>, { modes = [] }: ClientCall): Pick<Usage, 'mode'> {
  const fields = Object.entries(words);
  if (!fields.some(([, word]) => typeof word === 'string')) return {};
  // Of several, one that is not told of is taken to be as it was asked for.
  const told = fields.flatMap(([field, word]) => (typeof word === 'string' ? modeOf(word) : modes.find((mode) => mode.field === field)?.name) ?? []);
  const served = [...told, ...modes.filter(({ untold }) => untold).map(({ name }) => name)];
  if (served.length > 0) return { mode: served.join(' ') };
  return modes.length > 0 ? { mode: usualMode } : {};
}

/** Whether a tier that a caller of another protocol asks for would cost what nobody knows: it is lost then, and not asked for. */
export function isUnpriced(tier: string | undefined, { price, free }: Model): boolean {
  const mode = modeOf(tier);
  return mode !== undefined && !free && (price === undefined || !ratesIn(price, mode));
}

export const unpriced = 'the price of that tier is not known for this model';
