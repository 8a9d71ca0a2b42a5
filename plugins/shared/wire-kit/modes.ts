/**
 * Service modes with a price of their own: some vendors have tiers, others a speed and a region. The client
 * requests a mode, and the provider's reply reports whether it granted it. If not, the provider charges the
 * usual price.
 */
import {
  getModeRates,
  usualMode,
  type ClientCall,
  type Mode,
  type Model,
  type Usage,
} from '../../../core/index.ts';

/** Values for service at the usual price. Any other value is a mode of its own. */
const usual: ReadonlySet<string> = new Set([
  'auto',
  'default',
  'standard',
  'standard_only',
  'unspecified',
  'scale',
  'on_demand',
  'deferred',
  'global',
  'not_available',
  '',
]);

/** The name in price tables, for modes with several names. */
const names: ReadonlyMap<string, string> = new Map([['priority', 'fast']]);

function readMode(word: unknown): string | undefined {
  if (typeof word !== 'string') return undefined;
  const lower = word.toLowerCase();
  return usual.has(lower) ? undefined : (names.get(lower) ?? lower);
}

/** The modes that a call requests in these fields. Their order is that of the names in a price. */
export function readRequestedModes(fields: Readonly<Record<string, unknown>>): Mode[] {
  return Object.entries(fields).flatMap(([field, word]) => {
    const name = readMode(word);
    if (name === undefined) return [];
    return [{ name, field, ...(typeof word === 'string' && word !== name ? { word } : {}) }];
  });
}

/** The mode that the reply reports in these fields; empty if none was reported, requested or granted. */
export function readServedMode(
  words: Readonly<Record<string, unknown>>,
  { modes = [] }: ClientCall,
): Pick<Usage, 'mode'> {
  let isReported = false;
  const served: string[] = [];
  for (const [field, word] of Object.entries(words)) {
    isReported ||= typeof word === 'string';
    // A field that the reply leaves out counts as granted.
    const name = typeof word === 'string' ? readMode(word) : modes.find((mode) => mode.field === field)?.name;
    if (name !== undefined) served.push(name);
  }
  if (!isReported) return {};
  for (const { silent, name } of modes) if (silent) served.push(name);
  if (served.length > 0) return { mode: served.join(' ') };
  return modes.length > 0 ? { mode: usualMode } : {};
}

/** Whether the price of a tier is unknown, so that a client of another protocol loses it. */
export function isUnpriced(tier: string | undefined, { price, free }: Model): boolean {
  const mode = readMode(tier);
  return mode !== undefined && !free && (price === undefined || !getModeRates(price, mode));
}

export const unpriced = 'the price of that tier is not known for this model';
