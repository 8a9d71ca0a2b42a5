/**
 * What a model answers without a script. It calls the tools it is offered, three at most, and at once if
 * allowed; it answers tool results by naming them; it searches, draws and reasons when asked to. Otherwise it
 * says hello.
 */
import { buildSample } from './sample.ts';
import type { Said, SaidCall } from './scenario.ts';

export interface OfferedTool {
  readonly name: string;
  /** The schema of its arguments; a freeform tool has none. */
  readonly schema?: unknown;
  readonly freeform?: boolean;
}

/** What a request asks for, in terms that fit every wire. */
export interface Asked {
  readonly model: string;
  /** The tools it may call: none if the choice forbids it, one if the choice names it. */
  readonly tools: readonly OfferedTool[];
  /** It may not answer without a call. */
  readonly mustCall: boolean;
  readonly parallel: boolean;
  /** The tool results that end the conversation. */
  readonly results: readonly { readonly name: string; readonly text: string }[];
  /** The schema of the answer, or `true` for any JSON. */
  readonly schema?: unknown;
  readonly reasons: boolean;
  readonly searches?: boolean;
  readonly draws?: boolean;
  readonly runsCode?: boolean;
}

/** One pixel, as PNG. */
export const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

function improviseCall({ name, schema, freeform = false }: OfferedTool): SaidCall {
  return freeform
    ? { name, freeform, arguments: 'anything at all' }
    : { name, arguments: JSON.stringify(buildSample(schema ?? { type: 'object' })) };
}

function answer({ model, results, schema, searches, draws, runsCode }: Asked, candidate: number): Said {
  if (schema !== undefined)
    return { text: JSON.stringify(schema === true ? { answer: model } : buildSample(schema)) };
  if (results.length) return { text: results.map(({ name, text }) => `${name} said: ${text}`).join('; ') };
  if (draws) return { text: 'Here it is.', pictures: [{ mimeType: 'image/png', data: pixel }] };
  if (runsCode)
    return { code: { language: 'PYTHON', source: 'print(6 * 7)', output: '42\n' }, text: 'It is 42.' };
  if (!searches) return { text: `Hello from ${model}, this is answer ${candidate + 1}.` };
  const text = 'High water is at 14:05';
  return {
    search: 'high water',
    text: `${text}, says the harbour.`,
    citations: [{ url: 'https://tides.example/whitby', title: 'Tide tables', text }],
  };
}

export function improvise(asked: Asked, candidate = 0): Said {
  const reasoning = asked.reasons ? { reasoning: 'Let me think about that.' } : {};
  const calls = asked.tools.slice(0, asked.parallel ? 3 : 1).map(improviseCall);
  const calling = calls.length > 0 && (asked.mustCall || asked.results.length === 0);
  return calling ? { ...reasoning, toolCalls: calls } : { ...reasoning, ...answer(asked, candidate) };
}

/** Whether a scenario leaves the text to the model. */
export function saysNothing(said: Said): boolean {
  const { reasoning, text, refusal, toolCalls, search, pictures, sound, code } = said;
  return [reasoning, text, refusal, toolCalls, search, pictures, sound, code].every(
    (part) => part === undefined,
  );
}
