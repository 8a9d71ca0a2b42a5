/** Requests that refer to stored responses, by the SDK of OpenAI, towards vendors of all four wires. */
import OpenAI from 'openai';
import { beforeAll, expect, it } from 'vitest';
import { getModel, openFourWires, wires, type FourWires } from '../support/four-wires.ts';

let harness: FourWires;
let openai: OpenAI;
beforeAll(async () => {
  harness = await openFourWires({ store: { for: '1h' } });
  openai = new OpenAI({ apiKey: harness.key, baseURL: `${harness.gateway.url}/v1`, maxRetries: 0 });
});

const tools: OpenAI.Responses.FunctionTool[] = [
  {
    type: 'function',
    name: 'tide_at',
    parameters: { type: 'object', properties: { harbour: { type: 'string' } }, required: ['harbour'] },
    strict: false,
  },
];

it.each(wires.flatMap((wire) => (['plain', 'thinking'] as const).map((kind) => [wire, kind] as const)))(
  'a conversation by previous_response_id goes on for five turns with tools, on %s with a %s model',
  async (wire, kind) => {
    const { id: model, upstream } = getModel(wire, kind);
    const call = { toolCalls: [{ name: 'tide_at', arguments: ['{"harbour":"Hull"}'] }] };
    const thought = kind === 'thinking' ? { reasoning: ['I ', 'think.'] } : {};
    harness.vendors[wire].script(
      upstream,
      { ...call, ...thought },
      { text: ['At noon.'] },
      { ...call, ...thought },
      { text: ['Still noon.'] },
      { text: ['Farewell.'] },
    );
    let response = await openai.responses.create({ model, tools, input: 'The tide at Hull?' });
    for (const said of ['At noon.', 'Still noon.']) {
      const asked = response.output.find((item) => item.type === 'function_call');
      response = await openai.responses.create({
        model,
        tools,
        previous_response_id: response.id,
        input: [{ type: 'function_call_output', call_id: asked?.call_id ?? '', output: `noon, ${said}` }],
      });
      expect(response.output_text).toBe(said);
      if (said === 'Still noon.') break;
      response = await openai.responses.create({
        model,
        tools,
        previous_response_id: response.id,
        input: 'And now?',
      });
    }
    const last = await openai.responses
      .stream({ model, tools, previous_response_id: response.id, input: 'Farewell' })
      .finalResponse();
    expect(last.output_text).toBe('Farewell.');
    expect(last.previous_response_id).toBe(response.id);
    const sent = harness.vendors[wire].requests.at(-1)?.body.toString() ?? '';
    for (const said of ['The tide at Hull?', 'noon, At noon.', 'And now?', 'noon, Still noon.', 'Farewell'])
      expect(sent).toContain(said);
    expect(sent).not.toContain('previous_response_id');
  },
);
