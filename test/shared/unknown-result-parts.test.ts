/**
 * A part of a tool's result that only its protocol has stays where it is, beside parts that a plugin may
 * change.
 */
import { expect, it } from 'vitest';
import type { CanonicalRequest } from '../../core/index.ts';
import { readCases } from '../support/cases.ts';
import { families, readCall, wires, type Wire } from '../support/families.ts';

const hologram = { type: 'hologram', data: 'h' };

/** A conversation in which a tool answers with a text and a part of an unknown type. */
const bodies = readCases<Readonly<Record<Wire, object>>>('unknown-result-parts.json', import.meta.url);

function redactResults(request: CanonicalRequest): CanonicalRequest {
  const turns = request.turns.map((turn) => ({
    ...turn,
    blocks: turn.blocks.map((block) =>
      block.type === 'tool-result'
        ? {
            ...block,
            content: block.content.map((part) => (part.type === 'text' ? { ...part, text: '***' } : part)),
          }
        : block,
    ),
  }));
  return { ...request, turns };
}

it.each(wires)('a plugin changes the text beside it on %s', (wire) => {
  const { protocol, model } = families[wire];
  const encode = (request: CanonicalRequest): string =>
    JSON.stringify(protocol.upstream.encodeRequest(request, model, undefined).body);
  const request = readCall(wire, bodies[wire]).decode();
  const whole = encode(request);
  expect(whole).toContain(JSON.stringify(hologram));
  expect(whole).toContain('"secret"');
  expect(encode(redactResults(request))).toBe(whole.replace('"secret"', '"***"'));
});
