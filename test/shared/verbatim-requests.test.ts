/** The edits that each protocol makes in a body that it passes on, and that every other byte stays. */
import { expect, it } from 'vitest';
import { splice, type Model } from '../../core/index.ts';
import { makeCapable } from '../chat-completions/bodies.ts';
import { families, type Wire } from '../support/families.ts';

interface Edits {
  readonly limit?: number;
  readonly operation?: 'generate' | 'count';
  /** The name that the model has for its limit, if that is the older one. */
  readonly field?: 'max_tokens';
}

/** The body that a provider is sent whose name for the model is `up`. */
function retarget(wire: Wire, text: string, { limit, operation = 'generate', field }: Edits = {}): string {
  const { protocol, headers, match, model } = families[wire];
  const chat = { outputLimitField: field ?? 'max_completion_tokens' } as const;
  const capabilities: Model['capabilities'] =
    wire === 'chat-completions' ? makeCapable({ wire: { [wire]: chat } }).capabilities : model.capabilities;
  const call = protocol.client.read(JSON.parse(text), text, { ...match(false), operation }, headers);
  return splice(
    text,
    protocol.upstream.retarget({ call, model: 'up', provider: 'vendor', outputLimit: limit, capabilities }),
  );
}

const odd =
  '"\\u00e9\\ud83d\\ude00 \\"model\\": é🌊\\\\"} ] ,\r\n "temperature": 1.0 ,"x":-0,"y":1E+2,' +
  '"z":12345678901234567890,"metadata":{"model":"kept","provider":"kept"}';

it.each<[Wire, string]>([
  [
    'chat-completions',
    `\n{ "messages" :\t[ {"role":"user","content":${odd},"seed":9223372036854775807,"model" : "a/b" ,` +
      '"tools":[{"type":"function","function":{"name":"f",' +
      '"parameters":{"properties":{"model":{"type":"string"},"max_tokens":{}}}}}] }\n',
  ],
  ['responses', `\n{ "input" :\t[ {"role":"user","content":${odd},"store":true,"model" : "a/b" }\n`],
  [
    'messages',
    `\n{ "max_tokens" : 8000,"messages" :\t[ {"role":"user","content":${odd},"model" : "a/b",` +
      '"thinking":{"type":"enabled", "budget_tokens":4096} }\n',
  ],
  ['generate-content', `\n{ "contents" :\t[ {"parts":[{"text":"x","n":1.0}],"x":${odd} }\n`],
])('a body of %s gets another model and keeps every other byte: %j', (wire, text) => {
  expect(retarget(wire, text)).toBe(text.replace('"model" : "a/b"', '"model" : "up"'));
});

const said = '"messages":[{"role":"user","content":"x"}]';
const contents = '"contents": [ {"parts":[{"text":"x","n":1.0}]} ]';
const mine = '"provider":{"order":["x"]}';
const least = `"max_tokens":9,${said}`;

it.each<[Wire, written: string, sent: string, Edits?]>([
  ['chat-completions', `{"model":"a/b",${mine},${said}}`, `{"model":"up",${said}}`],
  ['chat-completions', `{${mine},"model":"a/b",${said}}`, `{"model":"up",${said}}`],
  ['chat-completions', `{"model":"a/b",${said},"provider":null}`, `{"model":"up",${said}}`],
  ['responses', `{"model":"a/b",${mine},"input":"x"}`, '{"model":"up","input":"x"}'],
  ['messages', `{${mine},"model":"a/b",${least}}`, `{"model":"up",${least}}`],
  ['messages', `{"provider":null,"model":"a/b",${least}}`, `{"model":"up",${least}}`],
  ['generate-content', `{${contents},${mine}}`, `{${contents}}`],
  ['generate-content', `{"provider":null,${contents}}`, `{${contents}}`],
  [
    'generate-content',
    `{"generateContentRequest":{"model":"models/a/b",${contents},${mine}}}`,
    `{"generateContentRequest":{"model":"models/up",${contents}}}`,
    { operation: 'count' },
  ],
  [
    'generate-content',
    `{"provider":{},"generateContentRequest":{"model":"models/a/b",${contents}}}`,
    `{"generateContentRequest":{"model":"models/up",${contents}}}`,
    { operation: 'count' },
  ],
])('a body of %s loses our own provider object, wherever it is: %s', (wire, written, sent, edits) => {
  expect(retarget(wire, written, edits)).toBe(sent);
});

const limited = (more: string): string => `{"model":"a/b",${more},${said}}`;

it.each<[Wire, written: string, sent: string, Edits?]>([
  ['chat-completions', limited('"max_completion_tokens": 1e2 '), limited('"max_completion_tokens": 1e2 ')],
  [
    'chat-completions',
    limited('"max_completion_tokens": 1e2 '),
    limited('"max_completion_tokens": 1e2 '),
    { limit: 100 },
  ],
  ['chat-completions', limited('"max_tokens":50'), `{"max_completion_tokens":50,"model":"up",${said}}`],
  [
    'chat-completions',
    limited('"max_completion_tokens":50'),
    `{"max_tokens":50,"model":"up",${said}}`,
    { field: 'max_tokens' },
  ],
  [
    'chat-completions',
    limited('"max_tokens":50,"max_completion_tokens":40'),
    limited('"max_tokens":40'),
    { field: 'max_tokens' },
  ],
  [
    'chat-completions',
    limited('"max_tokens":50,"max_completion_tokens":40'),
    limited('"max_completion_tokens":40'),
  ],
  [
    'chat-completions',
    limited('"max_completion_tokens":50'),
    limited('"max_completion_tokens":10'),
    { limit: 10 },
  ],
  [
    'chat-completions',
    limited('"max_completion_tokens":null'),
    limited('"max_completion_tokens":10'),
    { limit: 10 },
  ],
  [
    'chat-completions',
    `{"model":"a/b",${said}}`,
    `{"max_completion_tokens":10,"model":"up",${said}}`,
    { limit: 10 },
  ],
  ...['100', 'null'].map((limit): [Wire, string, string, Edits] => [
    'responses',
    `{"model":"a/b","input":"x","max_output_tokens": ${limit}}`,
    '{"model":"a/b","input":"x","max_output_tokens": 20}',
    { limit: 20 },
  ]),
  [
    'responses',
    '{"model":"a/b","input":"x"}',
    '{"max_output_tokens":20,"model":"up","input":"x"}',
    { limit: 20 },
  ],
  ...(
    [
      [8000, '"enabled", "budget_tokens":4096'],
      [5000, '"enabled", "budget_tokens":4096'],
      [4000, '"enabled", "budget_tokens":3000'],
      [900, '"disabled"'],
    ] as const
  ).map(([limit, type]): [Wire, string, string, Edits] => [
    'messages',
    limited('"max_tokens": 8000,"x":1.0, "thinking":{"type":"enabled", "budget_tokens":4096}'),
    limited(`"max_tokens": ${limit},"x":1.0, "thinking":{"type":${type}}`),
    { limit },
  ]),
  ['messages', `{"model":"a/b",${said}}`, `{"model":"up",${said}}`, { limit: 50, operation: 'count' }],
  ...(
    [
      [
        '"generationConfig":{"x":1.0,"maxOutputTokens":50}',
        '"generationConfig":{"x":1.0,"maxOutputTokens":20}',
      ],
      ['"generation_config":{"max_output_tokens":50}', '"generation_config":{"max_output_tokens":20}'],
      ['"generation_config":{"x":1.0}', '"generation_config":{"maxOutputTokens":20,"x":1.0}'],
      ['"generationConfig":null', '"generationConfig":{"maxOutputTokens":20}'],
    ] as const
  ).map(([written, sent]): [Wire, string, string, Edits] => [
    'generate-content',
    `{${contents},${written}}`,
    `{${contents},${sent}}`,
    { limit: 20 },
  ]),
  [
    'generate-content',
    `{${contents},"generationConfig":{"x":1.0,"maxOutputTokens":50}}`,
    `{${contents},"generationConfig":{"x":1.0,"maxOutputTokens":50}}`,
    { limit: 50 },
  ],
  [
    'generate-content',
    `{${contents}}`,
    `{"generationConfig":{"maxOutputTokens":20},${contents}}`,
    { limit: 20 },
  ],
])('a body of %s has the lower limit under the right name: %s becomes %s', (wire, written, sent, edits) => {
  expect(retarget(wire, written, edits)).toBe(sent.replace('"a/b"', '"up"'));
});

it.each<[written: string, sent: string, Edits?]>([
  [`{"model":"google/gemini-3-pro",${contents}}`, `{"model":"models/up",${contents}}`],
  [
    `{"generateContentRequest":{"model":"models/google/gemini-3-pro",${contents}}}`,
    `{"generateContentRequest":{"model":"models/up",${contents}}}`,
    { operation: 'count' },
  ],
  [
    `{"generate_content_request":{${contents}}}`,
    `{"generate_content_request":{"model":"models/up",${contents}}}`,
    { operation: 'count' },
  ],
  [`{${contents}}`, `{${contents}}`, { operation: 'count' }],
])("a body of generate-content has the vendor's name of the model where it names one: %s", (...row) => {
  const [written, sent, edits] = row;
  expect(retarget('generate-content', written, edits)).toBe(sent);
});

it('a call of messages sends the version and the betas of its client, and none of its other headers', () => {
  const { buildHeaders } = families.messages.protocol.upstream;
  const asked = { 'partner-version': '2026-10-21', 'anthropic-beta': 'a,b', 'x-api-key': 'k', cookie: 'c=1' };
  expect(buildHeaders(asked)).toEqual({ 'anthropic-version': '2026-10-21', 'anthropic-beta': 'a,b' });
  expect(buildHeaders({})).toEqual({ 'anthropic-version': '2023-06-01' });
});
