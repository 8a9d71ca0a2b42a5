/** The fake Google accepts, refuses and replies as the real one does, with the same error messages. */
import { describe, it } from 'vitest';
import { pixel } from '../support/vendor/improvise.ts';
import {
  current,
  turn,
  user,
  callTool,
  answerCall,
  say,
  config,
  media,
  type Change,
  useGoogle,
  isRefused,
} from './generate-content-requests.ts';

useGoogle();

const wrongContents: Record<string, Change> = {
  'no contents': [{ contents: undefined }, /contents is not specified/],
  'an unknown field': [
    { provider: {} },
    /^Invalid JSON payload received\. Unknown name "provider": Cannot find field\.$/,
  ],
  'an unknown field of a part': [
    media({ text: 'a', type: 'text' }),
    /Unknown name "type" at 'contents\[1\]\.parts\[0\]': Cannot find field/,
  ],
  'an unknown field of the settings': [
    config({ max_tokens: 5 }),
    /Unknown name "max_tokens" at 'generation_config'/,
  ],
  'a spelling between the two': [config({ max_outputTokens: 5 }), /Unknown name "max_outputTokens"/],
  'a field in both spellings': [{ system_instruction: user, systemInstruction: user }, /is set twice/],
  'a number as text': [
    config({ temperature: 'warm' }),
    /^Invalid value at 'generation_config\.temperature' \(TYPE_FLOAT\), "warm"$/,
  ],
  'a list for one value': [
    config({ responseMimeType: ['a'] }),
    /Proto field is not repeating, cannot start list/,
  ],
  'a name that is not in an enumeration': [
    { toolConfig: { functionCallingConfig: { mode: 'REQUIRED' } } },
    /^Invalid value at 'tool_config\.function_calling_config\.mode'/,
  ],
  'two kinds of data in a part': [
    media({ text: 'a', inlineData: { mimeType: 'image/png', data: pixel } }),
    /oneof field 'data' is already set/,
  ],
  'a part without data': [
    media({ thought: true }),
    /required oneof field 'data' must have one initialized field/,
  ],
  'a turn without parts': [say({ role: 'model' }, user), /parts must not be empty/],
  'the role of another wire': [
    say(turn('assistant', { text: 'a' })),
    /^Please use a valid role: user, model\.$/,
  ],
  'base64 that is none': [
    media({ inlineData: { mimeType: 'image/png', data: 'a*b' } }),
    /\(TYPE_BYTES\), Base64 decoding failed/,
  ],
  'base64 of both alphabets': [
    media({ inlineData: { mimeType: 'image/png', data: '_+8=' } }),
    /Base64 decoding failed/,
  ],
  'base64 with its prefix': [
    media({ inlineData: { mimeType: 'image/png', data: `data:image/png;base64,${pixel}` } }),
    /Base64 decoding failed/,
  ],
  'a medium without a kind': [media({ inlineData: { data: pixel } }), /empty mimeType/],
  'a medium of a kind it does not know': [
    media({ inlineData: { mimeType: 'application/zip', data: pixel } }),
    /^Unsupported MIME type: application\/zip$/,
  ],
  'a file it may not fetch': [
    media({ fileData: { fileUri: 'https://www.gstatic.com/a.png' } }),
    /URL_ROBOTED-ROBOTED_DENIED$/,
  ],
  'a file that is nowhere': [media({ fileData: { fileUri: 'a.png' } }), /file uri/],
  'a picture as a system instruction': [
    { systemInstruction: turn('user', { inlineData: { mimeType: 'image/png', data: pixel } }) },
    /only supports text/,
  ],
  'a call without a response': [
    say(turn('model', callTool()), user),
    /number of function response parts is equal to the number of function call parts/,
  ],
  'a call without a response at the end': [
    say(turn('model', callTool())),
    /followed by a function response turn/,
  ],
  'two calls and one response': [
    say(turn('model', callTool(), callTool('count')), turn('user', answerCall())),
    /number of function response parts/,
  ],
  'a response too many': [
    say(turn('model', callTool()), turn('user', answerCall(), answerCall())),
    /number of function response parts/,
  ],
  'responses in two turns': [
    say(turn('model', callTool(), callTool()), turn('user', answerCall()), turn('user', answerCall())),
    /number of function response parts/,
  ],
  'a response without a call': [say(turn('user', answerCall())), /immediately after a function call turn/],
  'a response under another name': [
    say(turn('model', callTool()), turn('user', answerCall('count'))),
    /names of the function response parts/,
  ],
  'a response without a name': [
    say(turn('model', callTool('')), turn('user', answerCall(''))),
    /Name cannot be empty/,
  ],
  'a response to another id': [
    say(
      turn('model', { functionCall: { id: 'a', name: 'find' } }),
      turn('user', answerCall('find', { id: 'b' })),
    ),
    /does not match any function call/,
  ],
  'a call by the user': [
    say(turn('user', callTool()), turn('user', answerCall())),
    /function call turn comes immediately after a user turn/,
  ],
  'a response that is no object': [
    say(turn('model', callTool()), turn('user', { functionResponse: { name: 'find', response: 'x' } })),
    /Invalid value at 'contents\[2\]/,
  ],
  'a reference in a response': [
    say(turn('model', callTool()), turn('user', answerCall('find', { response: { a: { $ref: 'b' } } }))),
    /references a part that was not provided/,
  ],
  'a medium in a response, to an older model': [
    say(
      turn('model', callTool()),
      turn('user', answerCall('find', { parts: [{ inlineData: { mimeType: 'image/png', data: pixel } }] })),
    ),
    /Multimodal function response is not supported/,
  ],
  'a call without its signature': [
    say(turn('model', callTool()), turn('user', answerCall())),
    /missing a thought_signature in functionCall parts/,
    current,
  ],
  'a later step without its signature': [
    say(
      turn('model', callTool('find', { thoughtSignature: 'skip_thought_signature_validator' })),
      turn('user', answerCall()),
      turn('model', callTool()),
      turn('user', answerCall()),
    ),
    /`default_api:find` , position 4/,
    current,
  ],
  'a forged signature': [
    say(turn('model', callTool('find', { thoughtSignature: 'AAAA' })), turn('user', answerCall())),
    /^Thought signature is not valid\.$/,
    current,
  ],
  'a forged signature, to an older model': [
    say(turn('model', { text: 'a', thoughtSignature: 'AAAA' }), user),
    /^Thought signature is not valid\.$/,
  ],
};

describe('the fake Google, asked something wrong', () => {
  it.each(Object.entries(wrongContents))('refuses it as the real one does: %s', isRefused);
});
