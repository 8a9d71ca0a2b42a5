/** Answers held against a JSON schema that the provider got only as an instruction. */
import { expect, it } from 'vitest';
import type { CanonicalEvent } from '../../core/canonical/events.ts';
import { checkJson } from '../../core/crossing/emulations.ts';

const mismatch = 'the answer is JSON that does not match the schema';

async function check(answer: unknown, schema: unknown): Promise<string[]> {
  const faults: string[] = [];
  const events: CanonicalEvent[] = [
    { type: 'block-start', candidate: 0, block: 0, kind: 'text' },
    { type: 'block-delta', candidate: 0, block: 0, text: JSON.stringify(answer) },
    { type: 'finish', candidate: 0, reason: { unified: 'stop', raw: 'stop' } },
  ];
  const batches = (async function* () {
    yield events;
  })();
  const passed: CanonicalEvent[] = [];
  for await (const batch of checkJson(
    batches,
    { schema },
    { noteLoss: (_, fault) => void faults.push(fault) },
  ))
    passed.push(...batch);
  expect(passed).toEqual(events);
  return faults;
}

/** Each level asks twice for the next. */
function buildDoubling(levels: number): object {
  const names = Array.from({ length: levels }, (_, level) => `level${level}`);
  const repeatReference = (name: string): object => ({ allOf: [{ $ref: name }, { $ref: name }] });
  const $defs = Object.fromEntries(
    names.map((name, level) => [name, repeatReference(`#/$defs/level${level + 1}`)]),
  );
  return { ...repeatReference('#/$defs/level0'), $defs };
}

it.each<[string, unknown, unknown]>([
  ['members in another order than a constant', { b: 1, a: 2 }, { const: { a: 2, b: 1 } }],
  ['one of the choices', { kind: 'b' }, { properties: { kind: { enum: ['a', 'b'] } } }],
  ['a reference with an escaped name', 3, { $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'integer' } } }],
])('an answer matches a schema with %s', async (_, answer, schema) => {
  expect(await check(answer, schema)).toEqual([]);
});

it.each<[string, unknown, unknown]>([
  ['a constant', { a: 2 }, { const: { a: 1 } }],
  ['a reference', 'three', { $ref: '#/$defs/number', $defs: { number: { type: 'number' } } }],
  ['required members', {}, { type: 'object', required: ['city'] }],
])('an answer that does not match %s is reported', async (_, answer, schema) => {
  expect(await check(answer, schema)).toEqual([mismatch]);
});

it('an answer is reported as unchecked if a short schema asks for millions of checks', async () => {
  expect(await check({}, buildDoubling(10))).toEqual([]);
  expect(await check({}, buildDoubling(60))).toEqual(['the schema asks for too many checks of the answer']);
});
