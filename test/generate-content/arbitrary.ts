/** Generators of bodies and replies for property tests. */
import fc from 'fast-check';
import { optional, text, unknown, addUnknown, word } from '../support/arbitrary.ts';

const standard = fc
  .uint8Array({ minLength: 1, maxLength: 12 })
  .map((bytes) => Buffer.from(bytes).toString('base64'));

const base64 = fc.oneof(
  standard,
  standard.map((data) => data.replaceAll('+', '-').replaceAll('/', '_')),
  standard.map((data) => data.replace(/=+$/, '')),
);

const signature = fc.oneof(
  base64,
  fc.constantFrom('', 'context_engineering_is_the_way_to_go', 'skip_thought_signature_validator'),
);

const mimeType = fc.constantFrom(
  'image/png',
  'IMAGE/PNG',
  'audio/wav',
  'video/mp4',
  'application/pdf',
  'text/plain',
);

const blob = addUnknown(
  fc.record({ mimeType, data: base64, displayName: fc.option(word) }, { requiredKeys: ['mimeType', 'data'] }),
);

const fileUri = fc.constantFrom(
  'https://x.example/a.png',
  'gs://bucket/a',
  'files/abc',
  'https://youtu.be/x',
  'https://generativelanguage.googleapis.com/v1beta/files/x',
);

const file = addUnknown(
  fc.record(
    { fileUri, mimeType: fc.option(mimeType), displayName: fc.option(word) },
    { requiredKeys: ['fileUri'] },
  ),
);

export const values = fc.dictionary(word, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 });

const response = fc.oneof(
  values,
  text.map((output) => ({ output })),
  text.map((error) => ({ error })),
  fc.jsonValue().map((output) => ({ output })),
);

const resultPart = addUnknown(
  fc.oneof(
    blob.map((inlineData) => ({ inlineData })),
    file.map((fileData) => ({ fileData })),
    fc.constant({}),
  ),
);

const call = addUnknown(
  fc.record(
    { id: fc.option(fc.oneof(word, fc.constant(''))), name: word, args: fc.option(values) },
    { requiredKeys: ['name'] },
  ),
);

const result = addUnknown(
  fc.record(
    {
      id: fc.option(fc.oneof(word, fc.constant(''))),
      name: word,
      response: fc.option(response),
      parts: fc.option(fc.array(resultPart, { maxLength: 2 })),
    },
    { requiredKeys: ['name'] },
  ),
);

const data = fc.oneof(
  text.map((each) => ({ text: each })),
  blob.map((inlineData) => ({ inlineData })),
  file.map((fileData) => ({ fileData })),
  call.map((functionCall) => ({ functionCall })),
  result.map((functionResponse) => ({ functionResponse })),
  fc.record({ language: fc.constant('PYTHON'), code: text }).map((executableCode) => ({ executableCode })),
  fc.constant({ codeExecutionResult: { outcome: 'OUTCOME_OK' } }),
  fc.constant({ text: null }),
  fc.constant({}),
);

const aside = fc.record(
  {
    thought: fc.option(fc.boolean()),
    thoughtSignature: fc.option(signature),
    videoMetadata: fc.constant({ fps: 2 }),
    mediaResolution: fc.constantFrom(
      { level: 'MEDIA_RESOLUTION_LOW' },
      { level: 'MEDIA_RESOLUTION_ULTRA_HIGH' },
      { level: 'odd' },
      {},
    ),
  },
  { requiredKeys: [] },
);

const part = addUnknown(fc.tuple(data, aside).map(([content, fields]) => ({ ...content, ...fields })));
const parts = fc.array(part, { minLength: 1, maxLength: 4 });

const instructions = fc.array(addUnknown(text.map((each) => ({ text: each }))), {
  minLength: 1,
  maxLength: 2,
});

const content = fc.oneof(
  addUnknown(
    fc.record(
      { role: fc.option(fc.constantFrom('user', 'model', 'function')), parts },
      { requiredKeys: ['parts'] },
    ),
  ),
  fc.record({ role: fc.constant('model'), parts }),
  fc.record({ role: fc.constant('user'), parts: part }),
);

const schema = fc.constantFrom(
  { type: 'object', properties: {} },
  { type: 'object', properties: { snake_name: { type: 'string' } }, additionalProperties: false },
);

const openApi = fc.constantFrom(
  {
    type: 'OBJECT',
    properties: { snake_name: { type: 'STRING', nullable: true } },
    propertyOrdering: ['snake_name'],
  },
  { type: 'ARRAY', items: { type: 'STRING', format: 'enum', enum: ['a'] }, maxItems: '3' },
);

const declared = addUnknown(
  fc.oneof(
    fc.record(
      { name: word, description: fc.option(text), parametersJsonSchema: fc.option(schema) },
      { requiredKeys: ['name'] },
    ),
    fc.record({ name: word, parameters: openApi }),
  ),
);

const tool = addUnknown(
  fc.record(
    {
      functionDeclarations: fc.oneof(fc.array(declared, { maxLength: 2 }), declared),
      googleSearch: fc.option(fc.constant({})),
      urlContext: fc.constant({}),
      codeExecution: fc.constant({}),
    },
    { requiredKeys: [] },
  ),
);

const calling = addUnknown(
  fc.oneof(
    fc.record(
      {
        mode: fc.option(
          fc.constantFrom('AUTO', 'ANY', 'NONE', 'VALIDATED', 'MODE_UNSPECIFIED', 'auto', 'any'),
        ),
      },
      { requiredKeys: [] },
    ),
    fc.record({
      mode: fc.constantFrom('ANY', 'VALIDATED'),
      allowedFunctionNames: fc.array(word, { maxLength: 3 }),
    }),
  ),
);

const format = fc.oneof(
  fc.record(
    {
      responseMimeType: fc.constantFrom('application/json', 'text/plain', 'text/x.enum'),
      responseJsonSchema: fc.option(schema),
    },
    { requiredKeys: [] },
  ),
  fc.record(
    { responseMimeType: fc.constantFrom('application/json', 'text/x.enum'), responseSchema: openApi },
    { requiredKeys: [] },
  ),
);

const thinking = addUnknown(
  fc.oneof(
    fc.record(
      { includeThoughts: fc.option(fc.boolean()), thinkingBudget: fc.integer({ min: -1, max: 9999 }) },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        includeThoughts: fc.boolean(),
        thinkingLevel: fc.constantFrom('LOW', 'high', 'THINKING_LEVEL_UNSPECIFIED', ''),
      },
      { requiredKeys: [] },
    ),
  ),
);

const generation = fc
  .tuple(
    unknown,
    format,
    optional({
      temperature: fc.double({ min: 0, max: 2, noNaN: true }).map((value) => value + 0),
      topP: fc.double({ min: 0, max: 1, noNaN: true }).map((value) => value + 0),
      topK: fc.nat(64),
      candidateCount: fc.integer({ min: 1, max: 8 }),
      maxOutputTokens: fc.integer({ min: 1, max: 9999 }),
      stopSequences: fc.array(text, { maxLength: 5 }),
      presencePenalty: fc.integer({ min: -2, max: 2 }),
      seed: fc.integer({ min: -9999, max: 9999 }),
      responseLogprobs: fc.boolean(),
      logprobs: fc.nat(20),
      responseModalities: fc.array(fc.constantFrom('TEXT', 'IMAGE', 'Audio'), { maxLength: 2 }),
      thinkingConfig: thinking,
      speechConfig: fc.constant({ voiceConfig: {} }),
      mediaResolution: word,
    }),
  )
  .map(([rest, shape, fields]) => ({ ...rest, ...shape, ...fields }));

const rest = optional({
  systemInstruction: addUnknown(
    fc.record({ role: fc.option(word), parts: instructions }, { requiredKeys: ['parts'] }),
  ),
  tools: fc.oneof(fc.array(tool, { maxLength: 3 }), tool),
  toolConfig: addUnknown(
    fc.record(
      { functionCallingConfig: fc.option(calling), retrievalConfig: fc.constant({ latLng: {} }) },
      { requiredKeys: [] },
    ),
  ),
  generationConfig: generation,
  safetySettings: fc.array(fc.record({ category: word, threshold: word }), { maxLength: 1 }),
  cachedContent: word,
  labels: fc.dictionary(fc.constantFrom('a_b', 'c'), word),
  serviceTier: fc.constantFrom('standard', 'flex', 'unspecified', 'default'),
  store: fc.boolean(),
});

/** Writes this wire's own names in snake_case in every second object. */
function writeSnakeCase(value: unknown, turn: { count: number }): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => writeSnakeCase(each, turn));
  if (typeof value !== 'object' || value === null) return value;
  turn.count += 1;
  const rename = turn.count % 2 === 0;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const closed = [
        'args',
        'response',
        'labels',
        'parameters',
        'parametersJsonSchema',
        'responseSchema',
        'responseJsonSchema',
      ].includes(name);
      return [
        rename ? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : name,
        closed ? inner : writeSnakeCase(inner, turn),
      ];
    }),
  );
}

/** Bodies as clients may write them. */
export const requestBody = fc
  .tuple(unknown, fc.array(content, { minLength: 1, maxLength: 4 }), rest, fc.boolean())
  .map(([others, contents, fields, snake]) => {
    const body = { ...others, contents, ...fields };
    return snake ? writeSnakeCase(body, { count: 0 }) : body;
  });
