/** The contract of families, for one whose replies are bytes and for one that is asked by forms. */
import fc from 'fast-check';
import { z } from 'zod';
import { checkModel, type Model, type Usage } from '../../core/index.ts';
import { Form } from '../../plugins/shared/forms.ts';
import { ByteAnswer, testFamily, type FamilyVendor } from '../contract/family.ts';
import { character } from '../support/arbitrary.ts';
import { buildModelFacts } from '../support/test-provider.ts';
import {
  answerNotes,
  answerRecording,
  answerSpeech,
  answerTranscript,
  hear,
  speak,
  speech,
  transcripts,
} from './made-families.ts';

const text = fc.string({ unit: character, minLength: 1, maxLength: 40 });

function makeModel(upstream: string, output: string): Model {
  return checkModel(buildModelFacts({ id: 'house/made', upstream, output: [output] }));
}

const asked = z.looseObject({ input: z.string(), voice: z.string() });

const countSpoken = (_tokens: number, body: object): Usage => ({
  input: 0,
  output: 0,
  character: asked.parse(body).input.length,
});

testFamily({
  plugin: speech(),
  clients: [
    {
      wire: 'made-speech',
      path: '/v1/audio/speech',
      bodies: fc
        .record(
          { input: text, voice: text, response_format: fc.constant('wav'), x_unknown: fc.integer() },
          { requiredKeys: ['input', 'voice'] },
        )
        .map((body) => ({ model: 'house/made', ...body })),
      local: ['model'],
      readAnswers: (reply) => [z.instanceof(ByteAnswer).parse(reply).bytes],
      expectAnswers: (body) => [speak(asked.parse(body))],
    },
  ],
  vendors: {
    'made-speech': {
      model: makeModel('voice', 'recordings'),
      answer: answerSpeech,
      toUsage: countSpoken,
    },
    'made-recordings': {
      model: makeModel('voice', 'recordings'),
      answer: answerRecording,
      toUsage: countSpoken,
    },
  },
});

const hearingVendor: FamilyVendor = {
  model: makeModel('ear', 'transcripts'),
  answer: answerTranscript,
  toUsage: (tokens) => ({ input: tokens, output: tokens }),
};

const form = z.looseObject({ heard: z.array(z.string()) });
const transcript = z.strictObject({ text: z.string(), usage: z.looseObject({}) });

testFamily({
  plugin: transcripts(),
  clients: [
    ['made-transcripts', '/v1/audio/transcriptions'] as const,
    ['made-long-transcripts', '/v1/audio/recordings'] as const,
  ].map(([wire, path]) => ({
    wire,
    path,
    bodies: fc
      .record(
        {
          heard: fc.array(text, { minLength: 1, maxLength: 3 }),
          language: fc.constant('en'),
          x_unknown: fc.integer(),
        },
        { requiredKeys: ['heard'] },
      )
      .map((body) => ({ model: 'house/made', ...body })),
    toForm(body) {
      const { heard, ...rest } = body;
      const texts = Object.entries(rest).map(([name, value]): [string, string] => [
        name,
        typeof value === 'object' ? JSON.stringify(value) : String(value),
      ]);
      const files = [heard].flat().map((sound) => ({
        name: 'file',
        filename: 'note.mp3',
        mediaType: 'audio/mpeg',
        bytes: Buffer.from(String(sound)),
      }));
      return new Form(texts, files);
    },
    local: ['model'],
    readAnswers: (reply) => [transcript.parse(reply).text],
    expectAnswers: (body) => [
      form
        .parse(body)
        .heard.map((sound) => hear(Buffer.from(sound)))
        .join('\n'),
    ],
  })),
  vendors: {
    'made-transcripts': hearingVendor,
    'made-long-transcripts': hearingVendor,
    'made-notes': {
      model: makeModel('ear', 'transcripts'),
      answer: answerNotes,
      toUsage: (tokens) => ({ input: tokens, output: tokens }),
    },
  },
});
