/**
 * Two small families, made for tests: speech, whose vendors answer with bytes or with base64 in JSON, and
 * transcripts, which are asked for by a form with files. Their vendors are as strict as real ones.
 */
import { z } from 'zod';
import { GatewayError, type ModelFacts, type PluginFactory, type Usage } from '../../core/index.ts';
import { defineFamily } from '../../plugins/shared/family/define-family.ts';
import type { ClientWire, ReadAsk, Wire } from '../../plugins/shared/family/wires.ts';
import { Form, requireBytes, type FormFile } from '../../plugins/shared/forms.ts';
import { decodeError, encodeError } from '../../plugins/shared/openai/errors.ts';
import { providerObject, readPreferences } from '../../plugins/shared/wire-kit/provider-object.ts';
import { errorSchema } from '../../plugins/shared/wire-kit/reply-schemas.ts';
import { overlay, pickUnread } from '../../plugins/shared/wire-kit/vendor-bag.ts';
import { checkWire, modelId } from '../../plugins/shared/wire-kit/wire-check.ts';
import { ByteAnswer } from '../contract/family.ts';

const errors = { encodeError, decodeError };

const demoFacts = {
  created: '2026-11-27',
  contextLength: 4096,
  outputLimit: 1,
  description: 'Answers offline.',
  input: ['text'],
} satisfies Partial<ModelFacts>;

export interface SpeechAsk {
  readonly input: string;
  readonly voice: string;
  readonly format: string;
}

interface Speech {
  readonly type: string;
  readonly bytes: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/** The most bytes of a reply. */
export const mostSpeech = 4 * 1024 * 1024;

const speechRequest = z.looseObject({
  model: modelId,
  input: z.string().min(1).max(4096),
  voice: z.string().min(1),
  response_format: z.enum(['mp3', 'wav']).optional(),
  provider: providerObject.nullish(),
});
const knownOfSpeech = new Set(Object.keys(speechRequest.shape));

const countSpoken = ({ input }: SpeechAsk, bytes = Infinity): Usage => ({
  input: 0,
  output: 0,
  character: Math.min(input.length, bytes),
});

const speechClient: ClientWire<SpeechAsk, Speech> = {
  match: (method, path) =>
    method === 'POST' && path === '/v1/audio/speech' ? { operation: 'generate' } : undefined,
  read(body): ReadAsk<SpeechAsk> {
    const wire = checkWire(speechRequest, body);
    const { model, input, voice, response_format: format = 'mp3', provider } = wire;
    return {
      model,
      ask: { input, voice, format },
      preferences: readPreferences(provider),
      size: { textBytes: Buffer.byteLength(input), images: 0, mediaBytes: 0 },
      fees: [{ name: 'character', field: 'input', most: input.length, expected: input.length }],
      rest: pickUnread(wire, knownOfSpeech),
      suits: () => true,
    };
  },
  fieldNames: { format: 'response_format' },
  getType: ({ type }) => type,
  write: ({ bytes }) => bytes,
  describeCalls: async () => [
    {
      method: 'POST',
      path: '/v1/audio/speech',
      summary: 'Speak a text',
      body: {
        'application/json': speechRequest.meta({
          examples: [{ model: 'demo/voice', input: 'Ahoy', voice: 'ada' }],
        }),
      },
      replies: { 200: { 'audio/mpeg': z.string() } },
      error: errorSchema,
    },
  ],
};

/** What OpenAI's wire is like: the reply is bytes that say nothing of usage. Here each is a character. */
const speaking: Wire<SpeechAsk, Speech> = {
  name: 'made-speech',
  errors,
  client: speechClient,
  encode: ({ input, voice, format }, model, { rest }) => [
    overlay(rest, { model: model.upstream, input, voice, response_format: format }),
  ],
  decode() {
    throw new GatewayError('upstream_failed', 'The provider sent no speech.');
  },
  bytes: {
    types: /^audio\/|^application\/octet-stream/,
    most: mostSpeech,
    read({ type, bytes }, ask, report) {
      if (type === 'audio/midi') throw new GatewayError('upstream_failed', 'The provider sent notes.');
      async function* listen(): AsyncGenerator<Uint8Array> {
        let length = 0;
        for await (const chunk of bytes) {
          length += chunk.length;
          report(countSpoken(ask, length));
          yield chunk;
        }
        report(countSpoken(ask));
      }
      return { type, bytes: listen() };
    },
  },
};

const spoken = z.looseObject({
  audio_data: z.base64().min(1),
  usage: z.looseObject({ characters: z.int() }).optional(),
});

/** What Mistral's wire is like: the reply is JSON. */
const recorded: Wire<SpeechAsk, Speech> = {
  name: 'made-recordings',
  errors,
  encode: ({ input, voice, format }, model, { lose }) => {
    if (format !== 'mp3') lose('format', 'the vendor records in one format', 'model');
    return [{ model: model.upstream, text: input, voice_id: voice }];
  },
  decode(body) {
    const { data } = spoken.safeParse(body);
    if (!data) throw new GatewayError('upstream_failed', 'The provider sent no speech.');
    const { audio_data: audio, usage } = data;
    return {
      answer: { type: 'audio/mpeg', bytes: [Buffer.from(audio, 'base64')] },
      usage: usage && { input: 0, output: 0, character: usage.characters },
    };
  },
};

/** The bytes that a text is spoken as. */
export function speak({ input, voice }: Pick<SpeechAsk, 'input' | 'voice'>): Buffer {
  return Buffer.from(`\xff\xfb${voice}\x00${input}`, 'latin1');
}

export const speech: PluginFactory<z.ZodObject> = defineFamily<SpeechAsk, Speech>({
  name: 'made-speech',
  makes: 'recordings',
  path: '/v1/audio/speech',
  wires: [speaking, recorded],
  join: ([answer]) => answer ?? { type: 'audio/mpeg', bytes: [] },
  demo: {
    wire: speaking.name,
    model: {
      ...demoFacts,
      id: 'demo/voice',
      upstream: 'voice',
      name: 'Demo Voice',
      output: ['recordings'],
      price: { input: '0', output: '0', character: '0.000015' },
    },
    answer: (ask) => ({ answer: { type: 'audio/mpeg', bytes: [speak(ask)] }, usage: countSpoken(ask) }),
  },
});

interface TranscriptAsk {
  readonly sounds: readonly FormFile[];
  readonly language: string | undefined;
}

const transcriptFields = z.looseObject({
  model: modelId,
  language: z.string().length(2).optional(),
  provider: z.string().optional(),
});
const knownOfTranscripts = new Set(Object.keys(transcriptFields.shape));

const heard = z.looseObject({
  text: z.string(),
  usage: z.looseObject({ input_tokens: z.int(), output_tokens: z.int() }).optional(),
});

function decodeTranscript(body: unknown): { answer: string; usage: Usage | undefined } {
  const { data } = heard.safeParse(body);
  if (!data) throw new GatewayError('upstream_failed', 'The provider sent no transcript.');
  const { text, usage } = data;
  return { answer: text, usage: usage && { input: usage.input_tokens, output: usage.output_tokens } };
}

const transcriptClient: ClientWire<TranscriptAsk, string> = {
  match: (method, path) =>
    method === 'POST' && path === '/v1/audio/transcriptions'
      ? { operation: 'generate', body: 'multipart' }
      : undefined,
  takesForms: true,
  read(body): ReadAsk<TranscriptAsk> {
    const { fields, files } = body instanceof Form ? body : new Form([], []);
    const wire = checkWire(transcriptFields, Object.fromEntries(fields));
    if (files.length === 0 || files.some(({ name }) => name !== 'file'))
      throw new GatewayError('invalid_request', '"file" has to be a file, or several.', { param: 'file' });
    const { model, language, provider } = wire;
    return {
      model,
      ask: { sounds: files, language },
      preferences: readPreferences(provider === undefined ? provider : JSON.parse(provider)),
      size: { textBytes: 0, images: 0, mediaBytes: files.reduce((sum, { bytes }) => sum + bytes.length, 0) },
      rest: pickUnread(wire, knownOfTranscripts),
      suits: () => true,
    };
  },
  *write(text, _ask, { usage: { input = 0, output = 0 } }) {
    yield JSON.stringify({ text, usage: { input_tokens: input, output_tokens: output } });
  },
  describeCalls: async () => [],
};

/** What OpenAI's wire is like: a form goes out as well. */
const hearing: Wire<TranscriptAsk, string> = {
  name: 'made-transcripts',
  errors,
  client: transcriptClient,
  encode: ({ sounds, language }, model, { rest }) => {
    const texts = Object.entries({ ...rest, model: model.upstream, language }).flatMap(
      ([name, value]): [string, string][] => (value === undefined ? [] : [[name, String(value)]]),
    );
    return sounds.map((file) => new Form(texts, [file]));
  },
  decode: decodeTranscript,
};

/** Bytes of a long recording, and of all that are on the disk at once. */
export const longest = { most: 220 * 1024 * 1024, together: 256 * 1024 * 1024 };

/** The same for recordings that are too long for memory. */
const hearingLong: Wire<TranscriptAsk, string> = {
  ...hearing,
  name: 'made-long-transcripts',
  client: {
    ...transcriptClient,
    match: (method, path) =>
      method === 'POST' && path === '/v1/audio/recordings'
        ? { operation: 'generate', body: 'multipart' }
        : undefined,
    files: longest,
  },
};

/** What Google's wire is like: the file is a member of JSON. */
const reading: Wire<TranscriptAsk, string> = {
  name: 'made-notes',
  errors,
  encode: ({ sounds, language }, model, { lose }) => {
    if (language !== undefined) lose('language', 'the vendor finds the language itself');
    return sounds.map((file) => ({
      model: model.upstream,
      mime: file.mediaType,
      data: Buffer.from(requireBytes(file)).toString('base64'),
    }));
  },
  decode: decodeTranscript,
};

/** What is heard in a file: its length and its first letters. */
export function hear(bytes: Uint8Array): string {
  return `${bytes.length} ${Buffer.from(bytes.subarray(0, 8)).toString('latin1')}`;
}

export const transcripts: PluginFactory<z.ZodObject> = defineFamily<TranscriptAsk, string>({
  name: 'made-transcripts',
  makes: 'transcripts',
  path: '/v1/audio/transcriptions',
  wires: [hearing, hearingLong, reading],
  join: (texts) => texts.join('\n'),
  demo: {
    wire: hearing.name,
    model: {
      ...demoFacts,
      id: 'demo/ear',
      upstream: 'ear',
      name: 'Demo Ear',
      output: ['transcripts'],
      price: { input: '1', output: '2' },
    },
    answer: ({ sounds }) => ({
      answer: sounds.map((file) => hear(requireBytes(file))).join('\n'),
      usage: { input: 3, output: 4 },
    }),
  },
});

const speechBody = z.strictObject({
  model: z.literal('voice'),
  input: z.string().min(1),
  voice: z.string().min(1),
  response_format: z.enum(['mp3', 'wav']),
  x_unknown: z.unknown().optional(),
});
const recordingBody = z.strictObject({ model: z.literal('voice'), text: z.string(), voice_id: z.string() });

export function answerSpeech(body: unknown): ByteAnswer {
  const sent = speechBody.parse(body);
  return new ByteAnswer(sent.response_format === 'wav' ? 'audio/wav' : 'audio/mpeg', speak(sent));
}

export function answerRecording(body: unknown): unknown {
  const { text, voice_id: voice } = recordingBody.parse(body);
  return {
    audio_data: speak({ input: text, voice }).toString('base64'),
    usage: { characters: text.length },
  };
}

const notesBody = z.strictObject({ model: z.literal('ear'), mime: z.string().min(1), data: z.base64() });
const transcriptForm = z.strictObject({
  model: z.literal('ear'),
  language: z.string().optional(),
  x_unknown: z.string().optional(),
});

const buildTranscript = (text: string, tokens: number): unknown => ({
  text,
  ...(tokens > 0 && { usage: { input_tokens: tokens, output_tokens: tokens } }),
});

export function answerTranscript(body: unknown, tokens: number): unknown {
  if (!(body instanceof Form)) throw new Error('the body is no form');
  transcriptForm.parse(Object.fromEntries(body.fields));
  const [file, second] = body.files;
  // OpenAI takes no file whose name has no ending.
  if (!file || second || !/^[^.]+\.[a-z0-9]+$/.test(file.filename)) throw new Error('"file" is wrong');
  return buildTranscript(hear(requireBytes(file)), tokens);
}

export function answerNotes(body: unknown, tokens: number): unknown {
  return buildTranscript(hear(Buffer.from(notesBody.parse(body).data, 'base64')), tokens);
}
