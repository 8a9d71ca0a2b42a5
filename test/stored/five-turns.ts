/** A conversation of five turns, two with a tool: what its vendor says, and what it has to be sent. */
import { getModel, type FourWires, type Wire } from '../support/four-wires.ts';

export const questions = ['The tide at Hull?', 'Sure?', 'And at Whitby?', 'Sure?', 'Farewell'];
export const answers = ['Noon at Hull.', 'Sure.', 'Dusk at Whitby.', 'Quite sure.', 'Fair winds.'];

/** Sets what the model says; with one that reasons, each turn begins with a thought. Returns its id. */
export function scriptTurns({ vendors }: FourWires, wire: Wire, kind: 'plain' | 'thinking'): string {
  const { id, upstream } = getModel(wire, kind);
  const thought = kind === 'thinking' ? { reasoning: ['Let me think.'] } : {};
  const look = (harbour: string): object => ({
    ...thought,
    toolCalls: [{ name: 'tide_at', arguments: [JSON.stringify({ harbour })] }],
  });
  const [one = '', two = '', three = '', four = '', five = ''] = answers;
  vendors[wire].script(
    upstream,
    look('Hull'),
    { ...thought, text: [one] },
    { ...thought, text: [two] },
    look('Whitby'),
    { ...thought, text: [three] },
    { ...thought, text: [four] },
    { ...thought, text: [five] },
  );
  return id;
}

/** What is wrong with the last request to the vendor: it has all that was said, and refers to nothing. */
export function listFaults({ vendors }: FourWires, wire: Wire): string[] {
  const sent = vendors[wire].requests.at(-1)?.body.toString() ?? '';
  const said = [...questions, ...answers.slice(0, 4), 'tide of Hull', 'tide of Whitby'];
  const references = ['item_reference', 'previous_response_id', 'conv_'];
  return [
    ...said.filter((text) => !sent.includes(text)).map((text) => `it lacks "${text}"`),
    ...references.filter((text) => sent.includes(text)).map((text) => `it has "${text}"`),
  ];
}
