/**
 * No regular expression in the sources takes too long, whatever its input: each is tried with inputs that
 * make bad ones backtrack. A vendor's error, which several of them read, is tried as a whole.
 */
import { describe, expect, it } from 'vitest';
import { decodeError as decodeMessagesError } from '../../plugins/protocols/messages/encoding.ts';
import { decodeError as decodeGoogleError } from '../../plugins/shared/google/errors.ts';
import { decodeError as decodeOpenAiError } from '../../plugins/shared/openai/errors.ts';
import { findPatterns, type Pattern } from '../support/patterns.ts';

/** Long enough that quadratic work takes far more than `harmless`: 10 ms on a machine of 2026. */
const length = 3000;
/** Milliseconds of this thread's own work that need no closer look. */
const harmless = 1;
/** What four times the input may cost: linear work costs four times as much, quadratic sixteen times. */
const most = 8;
/** Measurements that all show growth before work counts as slow. */
const mostTries = 5;

const patterns = findPatterns();

const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index));
const repeatable = [...printable, '\n', '\t', '\u00e9', '\u{1f600}'];

/** The characters a pattern names, and some that its classes match. */
function listCharacters(source: string): string[] {
  return [
    ...new Set([
      ...source.replaceAll(/\\[a-zA-Z]/g, '').replaceAll(/[\\^$()|?*+{}]/g, ''),
      'a',
      '0',
      ' ',
      '-',
      '.',
      '/',
      '_',
      '\n',
    ]),
  ];
}

/** The literal start of a pattern, so that an input reaches the rest of it. */
function findBeginning(source: string): string {
  return (/^\^?((?:[\w:\s-]|\\[./])+)(?![*+?{\w])/.exec(source)?.[1] ?? '').replaceAll('\\', '');
}

type Attack = (length: number) => string;

function* makeAttacks(source: string): Generator<Attack> {
  const alphabet = listCharacters(source);
  const beginning = findBeginning(source);
  for (const first of alphabet)
    for (const second of alphabet) {
      // What may begin anywhere also finds the other order in `first` and `second` repeated.
      if (first === second || (second < first && beginning === '' && !source.startsWith('^'))) continue;
      yield (size) => `${beginning}${(first + second).repeat(size / 2)}\u0001`;
    }
  for (const each of new Set([...alphabet, ...repeatable]))
    yield* [
      (size: number): string => `${beginning}${each.repeat(size)}\u0001`,
      (size: number): string => `${each.repeat(size)}\n\u0001`,
    ];
}

/** The milliseconds that this thread worked, whatever else the machine does. */
function measureWork(run: () => unknown): number {
  const began = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(began);
  return (user + system) / 1000;
}

/** Whether work grows faster than its input. Garbage collection makes any work slow now and then. */
function growsTooFast(work: (size: number) => unknown, size: number): boolean {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const short = measureWork(() => work(size));
    if (short <= harmless || measureWork(() => work(size * 4)) <= short * most) return false;
  }
  return true;
}

function isSlow({ source, flags }: Pick<Pattern, 'source' | 'flags'>): boolean {
  // A sticky pattern is tried at one place alone.
  const expression = new RegExp(source, `${flags.replace('g', '')}g`);
  for (const attack of makeAttacks(source))
    if (growsTooFast((size) => attack(size).replaceAll(expression, ''), length)) return true;
  return false;
}

it('a pattern is found wherever the sources have one, literal, made or joined', () => {
  expect(patterns.length).toBeGreaterThan(250);
  const sources = patterns.map(({ source }) => source);
  expect(sources.filter((source) => source.includes('(?:org[-_]\\w+|proj_')).length).toBeGreaterThan(2);
  expect(sources.some((source) => /maximum context\|.*\|exceeds the maximum/.test(source))).toBe(true);
});

it.each(['=+$', '\\s*\\bin'])('a pattern that backtracks without bound is recognised: %s', (source) => {
  expect(isSlow({ source, flags: 'i' })).toBe(true);
});

it.each(patterns.map((pattern) => [pattern.source, pattern] as const))(
  'a pattern %s is linear',
  (_, pattern) => {
    expect(isSlow(pattern), pattern.file).toBe(false);
  },
);

const decoders = { OpenAI: decodeOpenAiError, messages: decodeMessagesError, Google: decodeGoogleError };
const kibibyte = 1024;
/** Where vendors put what the caller wrote. */
const echoes: readonly ((text: string) => unknown)[] = [
  (text) => ({ error: { message: `No: ${text}`, type: text, code: text, param: text } }),
  (text) => ({ error: { message: 'No.', metadata: { raw: text, [text]: [text] } } }),
  (text) => ({ detail: [{ loc: ['body', text], msg: text, input: text }] }),
  (text) => `It is not ${text}`,
];

describe.each(Object.entries(decoders))("a vendor's error of the family %s", (_, decode) => {
  it('costs no more than its length, whatever character it repeats', () => {
    const slow = repeatable.filter((character) => {
      const echoed = (status: number, echo: (text: string) => unknown) => (size: number) => {
        const body = echo(character.repeat(size));
        return decode(status, typeof body === 'string' ? body : JSON.stringify(body));
      };
      return [400, 403, 404, 429, 500].some((status) =>
        echoes.some((echo) => growsTooFast(echoed(status, echo), length)),
      );
    });
    expect(slow).toEqual([]);
  });

  it('is cut as a whole, however many texts it has', () => {
    const texts = Array.from({ length: 100 }, () => ' '.repeat(64 * kibibyte));
    const lists = Object.fromEntries(texts.map((text, index) => [`f${index}`, [text, { text }]]));
    const body = JSON.stringify({ error: { message: 'No.', lists, input: texts } });
    const { details } = decode(400, body);
    const kept = JSON.stringify(details.vendor?.body);
    expect(kept.length).toBeGreaterThan(60 * kibibyte);
    expect(kept.length).toBeLessThan(66 * kibibyte);
  });
});
