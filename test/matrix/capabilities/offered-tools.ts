/** Tools that calls offer, and the calls of them. */
import { hear } from '../../support/listen.ts';
import { wires, type Wire } from '../../support/replaying-vendor.ts';
import type { ByWire, Check } from '../capability.ts';
import { chart, spellTurns, offerTools, tide } from '../spelling.ts';

export const offered = offerTools(tide);
export const two = offerTools(tide, chart);
export const hull = { id: 'call_1', name: 'tide_at', input: { harbour: 'Hull' } };
export const whitby = { id: 'call_2', name: 'tide_at', input: { harbour: 'Whitby' } };

export const asked = spellTurns(
  { user: 'Ahoy' },
  { calls: [hull] },
  { results: [{ call: hull, text: '05:12' }] },
);

/** What a client of each protocol makes of the reply's calls. */
export function calls(expected: readonly (readonly [name: string, input: unknown])[]): ByWire<Check> {
  const check =
    (client: Wire): Check =>
    (reply) => {
      const heard = hear(client, reply).calls;
      const ids = heard.flatMap(({ id }) => (id === undefined ? [] : [id]));
      return (
        new Set(ids).size === ids.length &&
        JSON.stringify(heard.map(({ name, input }) => [name, input])) === JSON.stringify(expected)
      );
    };
  return Object.fromEntries(wires.map((wire) => [wire, check(wire)]));
}
