/** The reply in one piece: a `chat.completion` object. */
import { buildLogprobs, buildTrailer, type Composition } from './composition.ts';
import type { Call, Speech } from './speech.ts';

function buildCall({ id, type, name, fragments }: Call): object {
  const said = fragments.join('');
  return type === 'function'
    ? { id, type, function: { name, arguments: said } }
    : { id, type, custom: { name, input: said } };
}

/** Until when a sound can be spoken of by its id. */
export const expiry = 1_900_000_000;

function buildMessage({ reasoning, text, refusal, calls, annotations, sound }: Speech, id: string): object {
  return {
    role: 'assistant',
    content: text ? text.join('') : null,
    ...(reasoning.length ? { reasoning_content: reasoning.join('') } : {}),
    ...(calls.length ? { tool_calls: calls.map(buildCall) } : {}),
    refusal: refusal.length ? refusal.join('') : null,
    annotations,
    ...(sound
      ? { audio: { id, data: sound.data.join(''), expires_at: expiry, transcript: sound.transcript } }
      : {}),
  };
}

export function buildCompletion(composition: Composition): object {
  const { identity, speeches, usage } = composition;
  return {
    id: identity.id,
    object: 'chat.completion',
    created: identity.created,
    model: identity.model,
    choices: speeches.map((speech, index) => ({
      index,
      message: buildMessage(speech, `audio_${identity.id}`),
      ...buildLogprobs(composition, speech.text ?? []),
      finish_reason: speech.finish,
    })),
    ...(usage ? { usage } : {}),
    ...buildTrailer(composition),
  };
}
