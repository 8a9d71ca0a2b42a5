import { describe, expect, it } from 'vitest';
import type { Block, CanonicalRequest, Turn } from '../../core/index.ts';
import { toClientPath } from '../../core/loss.ts';
import { protocolName as responses } from '../../plugins/protocols/responses/encoding.ts';
import { expectRefusal } from '../support/refusals.ts';
import { ahoy, call, assistant, file, result, text, tool, user } from '../support/turns.ts';
import { makeCall, older, protocol, encode } from './bodies.ts';
import { encodeContents } from './encoded.ts';

describe('a request that Google cannot fulfil', () => {
  it.each<[string, Partial<CanonicalRequest>, string]>([
    ['sound alone of a model that writes', { modalities: ['audio'] }, 'modalities'],
    [
      'a conversation without text',
      { turns: [{ role: 'user', blocks: [text('')], at: 'messages[0]' }] },
      'messages[0]',
    ],
    [
      'a file of no known kind',
      {
        turns: [user(file('document', 'AAAA', { at: 'input[0].content[0]' }))],
      },
      'input[0].content[0]',
    ],
    [
      'maps',
      {
        tools: [
          {
            type: 'hosted',
            protocol: responses,
            kind: 'other',
            value: { type: 'file_search' },
            at: 'tools[0]',
          },
        ],
      },
      'tools[0]',
    ],
  ])('is refused: %s', (_, sent, param) => {
    expect(expectRefusal(() => encode(sent))).toMatchObject({
      code: 'unsupported_parameter',
      details: { param },
    });
  });

  it('reports losses: arguments that are no object, a namespace', () => {
    const called: Turn = assistant(call('c1', 'f', { arguments: 'not json', namespace: 'charts' }));
    const { body, lost } = encode({
      turns: [ahoy, called],
      tools: [{ type: 'function', name: 'f', namespace: 'charts' }],
    });
    expect(body.contents).toMatchObject([
      {},
      { parts: [{ functionCall: { name: 'f', args: { _raw: 'not json' } } }] },
    ]);
    expect(lost).toEqual([
      'turns[1].blocks[0].namespace',
      'turns[1].blocks[0].arguments',
      'tools[0].namespace.name',
    ]);
  });

  it("reports a schema in Google's own form by its own field name", () => {
    const request = makeCall({
      generationConfig: { responseMimeType: 'application/json', responseSchema: { type: 'ARRAY' } },
    }).decode();
    expect(toClientPath('format.schema', request, protocol.client.fieldNames)).toBe(
      'generationConfig.responseSchema',
    );
  });

  it('reports fields that the client wrote in snake_case in snake_case', () => {
    const request = makeCall({
      system_instruction: { parts: [{ text: 'a' }] },
      contents: [
        {
          parts: [
            {
              inline_data: { mime_type: 'image/png', data: 'AAAA' },
              media_resolution: { level: 'MEDIA_RESOLUTION_LOW' },
            },
          ],
        },
      ],
      tools: [{ function_declarations: [{ name: 'f', parameters_json_schema: {} }] }],
      generation_config: { top_p: 0.5, topK: 3, media_resolution: 'MEDIA_RESOLUTION_LOW' },
      safety_settings: [],
      service_tier: 'flex',
    }).decode();
    const paths = [
      'topP',
      'topK',
      'turns[0].blocks[0].cache',
      'turns[1].blocks[0].detail',
      'tools[0].schema',
      'generationConfig.mediaResolution',
      'safetySettings',
      'serviceTier',
    ].map((path) => toClientPath(path, request, protocol.client.fieldNames));
    expect(paths).toEqual([
      'generation_config.top_p',
      'generation_config.topK',
      'system_instruction.parts[0].cache',
      'contents[0].parts[0].media_resolution',
      'tools[0].function_declarations[0].parameters_json_schema',
      'generation_config.media_resolution',
      'safety_settings',
      'service_tier',
    ]);
  });

  it.each(['googleSearch', 'codeExecution', 'urlContext', 'googleMaps', 'fileSearch'])(
    'recognises the hosted tool %s in either spelling',
    (name) => {
      const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const [spelt, usual] = [snake, name].map(
        (each) => makeCall({ tools: [{ [each]: {} }] }).decode().tools?.[0],
      );
      expect(spelt).toEqual({ ...usual, at: `tools[0].${snake}` });
    },
  );

  it('finds the type of a picture in its bytes', () => {
    const picture: Block = file('image', 'iVBORw0KGgoAAAANSUhEUg==');
    expect(encodeContents([user(picture)])).toMatchObject([
      { parts: [{ inlineData: { mimeType: 'image/png' } }] },
    ]);
  });

  it('puts the context of a document before it, and its text inside the result that holds it', () => {
    const document: Block = file('document', text('2 m'), { title: 'Tides', context: 'Of May.' });
    const { body, lost } = encode(
      {
        turns: [user(document), assistant(call('c1')), tool(result('c1', [document]))],
      },
      older,
    );
    expect(body.contents).toMatchObject([
      { parts: [{ text: 'Of May.' }, { text: 'Tides:\n\n2 m' }] },
      { parts: [{ functionCall: { name: 'f' } }] },
      { parts: [{ functionResponse: { response: { output: 'Of May.\n\nTides:\n\n2 m' } } }] },
    ]);
    expect(lost).toEqual(['turns[0].blocks[0].context', 'turns[2].blocks[0].content[0].context']);
  });
});

it('decoding a request of this protocol does not report the role of instructions as lost', () => {
  const { turns } = makeCall({ systemInstruction: { role: 'user', parts: [{ text: 'a' }] } }).decode();
  expect(turns[0]?.vendor).toBeUndefined();
});
