/** A request of each protocol that shows much of what has to cross. */

const picture =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9' +
  'awAAAABJRU5ErkJggg==';
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

export const exampleRequests: Readonly<Record<string, object>> = {
  'chat-completions': {
    messages: [
      { role: 'developer', content: 'Answer in one sentence.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is the weather where this was taken?' },
          { type: 'image_url', image_url: { url: picture, detail: 'low' } },
        ],
      },
    ],
    tools: [
      {
        type: 'function',
        function: {
          name: 'get_weather',
          description: 'The weather of a city.',
          parameters: schema,
          strict: true,
        },
      },
    ],
    max_tokens: 500,
    temperature: 0.7,
    seed: 7,
    logit_bias: { 50256: -100 },
    reasoning_effort: 'low',
  },
  responses: {
    instructions: 'Answer in one sentence.',
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'What is the weather in Paris?' }] }],
    tools: [{ type: 'function', name: 'get_weather', parameters: schema, strict: true }],
    max_output_tokens: 500,
    reasoning: { effort: 'low', summary: 'auto' },
    text: { verbosity: 'low' },
    top_logprobs: 2,
  },
  messages: {
    system: [{ type: 'text', text: 'Answer in one sentence.', cache_control: { type: 'ephemeral' } }],
    messages: [{ role: 'user', content: 'What is the weather in Paris?' }],
    tools: [{ name: 'get_weather', description: 'The weather of a city.', input_schema: schema }],
    max_tokens: 500,
    top_k: 40,
    stop_sequences: ['END'],
  },
  'generate-content': {
    systemInstruction: { parts: [{ text: 'Answer in one sentence.' }] },
    contents: [{ role: 'user', parts: [{ text: 'What is the weather in Paris?' }] }],
    tools: [
      {
        functionDeclarations: [
          { name: 'get_weather', description: 'The weather of a city.', parametersJsonSchema: schema },
        ],
      },
    ],
    generationConfig: { maxOutputTokens: 500, temperature: 0.7, topK: 40, candidateCount: 1, seed: 7 },
    safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
  },
  images: { prompt: 'A cat that guards a gate, as a woodcut.', n: 1, size: '1024x1024', quality: 'low' },
};
