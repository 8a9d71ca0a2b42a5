/**
 * Numbers, times and amounts as people read them. Times are local. Amounts are decimal strings in USD with up
 * to nine places, added as integers and never as floats.
 */
import type { CallDetail } from '../../../shared/replies/calls.ts';
import type { Offer } from '../../../shared/replies/models.ts';
import { html } from './kit.ts';

const places = 9;

/** Whether a text is an amount as the API writes it. */
export function isDecimal(text: string): boolean {
  return /^-?\d+(\.\d+)?$/.test(text);
}

/** Nano-USD of an amount. */
export function parseUsd(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.replace('-', '').split('.');
  const value = BigInt(whole + fraction.padEnd(places, '0').slice(0, places));
  return amount.startsWith('-') ? -value : value;
}

/** An amount of nano-USD, with the places it needs. */
export function formatUsd(value: bigint): string {
  const digits = String(value < 0n ? -value : value).padStart(places + 1, '0');
  const fraction = digits.slice(-places).replace(/(?<!0)0+$/, '');
  const whole = digits.slice(0, -places);
  return `${value < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

export function sumAmounts(amounts: readonly string[]): string {
  return formatUsd(amounts.reduce((total, amount) => total + parseUsd(amount), 0n));
}

/** `$1,234.50`, with all places. */
export function formatDollars(amount: string): string {
  const [whole = '0', fraction = ''] = amount.replace('-', '').split('.');
  const grouped = BigInt(whole).toLocaleString('en-US');
  return `${amount.startsWith('-') ? '−' : ''}$${grouped}.${fraction.padEnd(2, '0')}`;
}

/** An amount with all its places; those after the cents are dimmed. */
export function renderUsd(amount: string | null | undefined) {
  if (amount === null || amount === undefined) return html`<span class="dim">–</span>`;
  const text = formatDollars(amount);
  const cents = text.indexOf('.') + 3;
  const tail = text.length > cents && html`<wbr /><span class="tail">${text.slice(cents)}</span>`;
  return html`<span class="amount">${text.slice(0, cents)}${tail}</span>`;
}

/** What a unit costs in all modalities, as the price states it. */
export function findRate(price: Offer['price'], wanted: string): string | null {
  const found = price?.rates.find(({ unit, modality }) => unit === wanted && modality === undefined);
  return found?.rate ?? null;
}

type Use = CallDetail['uses'][number];

/** Units that people would not read out of their names. */
const unitNames: Readonly<Record<string, string>> = {
  cacheRead: 'cached input',
  imageIn: 'picture read',
  image: 'picture',
  sessionSecond: 'second of a session',
  secondIn: 'second read',
  secondOut: 'second made',
};
const lengths: Readonly<Record<string, string>> = { m: 'minutes', h: 'hours' };

/** `cache write (5 minutes)`, `audio input`; of a rate also where it holds: `input above 200000`. */
export function nameUnit({ unit, modality = '' }: Pick<Use, 'unit' | 'modality'>): string {
  const [name = '', ...rest] = unit.split(' ');
  const [, kept, count, length = ''] = /^(cacheWrite)(\d+)([mh])$/.exec(name) ?? [];
  const plain =
    kept === undefined
      ? (unitNames[name] ?? name.replaceAll(/[A-Z]|\d+/g, (part) => ` ${part.toLowerCase()}`))
      : `cache write (${count} ${lengths[length]})`;
  return [modality, plain, ...rest].join(' ').trim();
}

/** The name of a rate, as a label. */
export function nameRate(use: Pick<Use, 'unit' | 'modality'>): string {
  const name = nameUnit(use);
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** Clients by what they call themselves. */
const clients: Readonly<Record<string, string>> = {
  'claude-cli': 'Claude Code',
  codex_cli_rs: 'Codex',
  codex_exec: 'Codex',
  'codex-tui': 'Codex',
  GeminiCLI: 'Gemini CLI',
  OpenAI: 'OpenAI SDK',
  AsyncOpenAI: 'OpenAI SDK',
  Anthropic: 'Anthropic SDK',
};
export const nameClient = (name: string): string => clients[name] ?? (name || 'unknown client');

const whole = new Intl.NumberFormat('en');
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export function formatCount(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : whole.format(value);
}

/** `1 call`, `2 calls`. */
export function formatThings(count: number, thing: string): string {
  return `${formatCount(count)} ${thing}${count === 1 ? '' : 's'}`;
}

/** `12.3K` from 100,000 on. */
export function formatShort(value: number): string {
  // Small amounts have two significant digits and no exponent.
  if (value !== 0 && Math.abs(value) < 0.1)
    return value
      .toFixed(12)
      .replace(/^(-?0\.0*[1-9]\d?)\d*$/, '$1')
      .replace(/(?<!0)0+$/, '');
  return Math.abs(value) < 100_000 ? whole.format(Math.round(value * 100) / 100) : compact.format(value);
}

export const formatShortUsd = (value: number): string => `$${formatShort(value)}`;

/** Milliseconds as `850 ms`, `12.4 s` or `3 min 20 s`. */
export function formatDuration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–';
  if (ms > 0 && ms < 0.1) return '< 0.1 ms';
  if (ms < 10 && !Number.isInteger(ms)) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9995 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export function formatPercent(part: number, all: number): string {
  if (all === 0) return '–';
  const share = (part / all) * 100;
  if (share > 0 && share < 0.1) return '< 0.1 %';
  return `${share > 0 && share < 10 ? share.toFixed(1) : Math.round(share)} %`;
}

const createFormat = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en-GB', options);
const utcDays = createFormat({ day: 'numeric', month: 'short', timeZone: 'UTC' });
const localDays = createFormat({ weekday: 'short', day: 'numeric', month: 'short' });
const clocks = createFormat({ hour: '2-digit', minute: '2-digit' });
const minutes = createFormat({ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
const seconds = createFormat({
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});
const dates = createFormat({ dateStyle: 'medium' });
const times = createFormat({ dateStyle: 'medium', timeStyle: 'medium' });

type Moment = string | number | Date;

export const formatClock = (at: Moment): string => clocks.format(new Date(at));
/** A day as the sums of calls have them, in UTC. */
export const formatUtcDay = (at: Moment): string => utcDays.format(new Date(at));
export const formatDay = (at: Moment): string => localDays.format(new Date(at));
export const formatMinute = (at: Moment): string => minutes.format(new Date(at));

/**
 * A local time; its tooltip is the exact one in UTC. `brief` is without seconds, and only a date if it is of
 * another year; `exact` is with seconds and without the year.
 */
export function renderTime(at: Moment | null | undefined, style: 'full' | 'brief' | 'exact' = 'full') {
  const date = new Date(at ?? '');
  if (Number.isNaN(date.getTime())) return html`<span class="dim">–</span>`;
  const isThisYear = date.getFullYear() === new Date().getFullYear();
  const shown = { full: times, exact: seconds, brief: isThisYear ? minutes : dates }[style];
  const iso = date.toISOString();
  return html`<time datetime=${iso} title=${iso}>${shown.format(date)}</time>`;
}
