/** A request of each protocol that shows much of what has to cross. */
import { buildRequest, playable } from './playground-requests.ts';

const picture =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9' +
  'awAAAABJRU5ErkJggg==';
const system = 'Answer in one sentence.';

/** Fields that a protocol has for itself. */
const own: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'chat-completions': { seed: 7, logit_bias: { 50256: -100 }, reasoning_effort: 'low' },
  responses: {
    reasoning: { effort: 'low', summary: 'auto' },
    text: { verbosity: 'low' },
    top_logprobs: 2,
  },
  messages: {
    system: [{ type: 'text', text: system, cache_control: { type: 'ephemeral' } }],
    top_k: 40,
    stop_sequences: ['END'],
  },
  'generate-content': {
    generationConfig: { maxOutputTokens: 500, temperature: 0.7, topK: 40, candidateCount: 1, seed: 7 },
    safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
  },
  images: { prompt: 'A cat that guards a gate, as a woodcut.' },
};

function buildExample(protocol: string): object {
  const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const { body } = buildRequest(
    {
      protocol,
      model: '',
      stream: false,
      system,
      turns: [{ role: 'user', text: 'What is the weather where this was taken?', images: [picture] }],
      tools: [{ name: 'get_weather', description: 'The weather of a city.', parameters: city }],
      maxTokens: 500,
      temperature: 0.7,
      further: own[protocol] ?? {},
    },
    '',
  );
  // The page names the model.
  const { model: _model, ...example } = body;
  return example;
}

export const exampleRequests: Readonly<Record<string, object>> = Object.fromEntries(
  playable.map((protocol) => [protocol, buildExample(protocol)]),
);
