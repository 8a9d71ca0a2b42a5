/**
 * How callers ask a vendor for unusual service, and how its reply says that they got it: OpenAI and Google use a tier,
 * Anthropic a speed and a region. A vendor that had no room for it says so, and charges the usual price.
 */
import {
  ratesIn,
  usualMode,
  type ClientCall,
  type Mode,
  type Model,
  type Usage,
} from '../../../core/index.ts';

/** Words for service at the usual price or less. Any other word is a mode of its own. */
const usual: ReadonlySet<string> = new Set([
  'auto',
  'default',
  'standard',
  'standard_only',
  'unspecified',
  'flex',
  'scale',
  'batch',
  'on_demand',
  'deferred',
  'global',
  'not_available',
  '',
]);

/** The name that prices use for a mode, where vendors have several words for it. */
const names: ReadonlyMap<string, string> = new Map([['priority', 'fast']]);

function modeOf(word: unknown): string | undefined {
  if (typeof word !== 'string') return undefined;
  const lower = word.toLowerCase();
  return usual.has(lower) ? undefined : (names.get(lower) ?? lower);
}

/** The modes that a call asks for. `fields` are the fields that can ask, with what they say, in the order of the names in a price. */
export function askedModes(fields: Readonly<Record<string, unknown>>): Mode[] {
  return Object.entries(fields).flatMap(([field, word]) => {
    const name = modeOf(word);
    return name === undefined ? [] : [{ name, field }];
  });
}

/**
 * How a call was served, by what the vendor's reply says in the fields that ask for it; empty where it says nothing,
 * and where nothing special was asked for or given.
 */
export function servedMode(
  words: Readonly<Record<string, unknown>>,
  { modes = [] }: ClientCall,
): Pick<Usage, 'mode'> {
  const fields = Object.entries(words);
  if (!fields.some(([, word]) => typeof word === 'string')) return {};
  // Where there are several fields and the reply leaves one out, that one is taken to be as it was asked for.
  const told = fields.flatMap(
    ([field, word]) =>
      (typeof word === 'string' ? modeOf(word) : modes.find((mode) => mode.field === field)?.name) ?? [],
  );
  const served = [...told, ...modes.filter(({ untold }) => untold).map(({ name }) => name)];
  if (served.length > 0) return { mode: served.join(' ') };
  return modes.length > 0 ? { mode: usualMode } : {};
}

/** Whether no price is known for a tier that a caller of another protocol asks for. The tier is lost then, and the vendor not asked for it. */
export function isUnpriced(tier: string | undefined, { price, free }: Model): boolean {
  const mode = modeOf(tier);
  return mode !== undefined && !free && (price === undefined || !ratesIn(price, mode));
}

export const unpriced = 'the price of that tier is not known for this model';
