/** The reply in one piece: a `chat.completion` object. */
import type { SpokenCall, Speech } from '../speech.ts';
import {
  buildAnnotations,
  buildLogprobs,
  buildTrailer,
  getFinishReason,
  type Composition,
} from './composition.ts';

function buildCall({ id, freeform, name, fragments }: SpokenCall): object {
  const said = fragments.join('');
  return freeform
    ? { id, type: 'custom', custom: { name, input: said } }
    : { id, type: 'function', function: { name, arguments: said } };
}

/** Until when a sound can be spoken of by its id. */
export const expiry = 1_900_000_000;

function buildMessage(speech: Speech, id: string): object {
  const { reasoning, text, refusal, calls, sound } = speech;
  return {
    role: 'assistant',
    content: text ? text.join('') : null,
    ...(reasoning.length ? { reasoning_content: reasoning.join('') } : {}),
    ...(calls.length ? { tool_calls: calls.map(buildCall) } : {}),
    refusal: refusal.length ? refusal.join('') : null,
    annotations: buildAnnotations(speech),
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
      finish_reason: getFinishReason(speech),
    })),
    ...(usage ? { usage } : {}),
    ...buildTrailer(composition),
  };
}
