/**
 * Google's signature of an answer's text returns to Google through every client, byte for byte, and reaches
 * no other provider.
 */
import { describe, expect, it } from 'vitest';
import { families, readCall, wires, type Wire } from '../support/families.ts';

const google = families['generate-content'];
const seal = 'c2VhbCBvZiB0ZXh0';
const reply = {
  candidates: [
    {
      index: 0,
      content: { role: 'model', parts: [{ text: 'Ahoy.', thoughtSignature: seal }] },
      finishReason: 'STOP',
    },
  ],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  modelVersion: 'm',
  responseId: 'r',
};
const opening: Readonly<Record<Wire, object>> = {
  'chat-completions': { model: 'google/g', messages: [{ role: 'user', content: 'Hi' }] },
  responses: { model: 'google/g', input: [{ role: 'user', content: 'Hi' }] },
  messages: {
    model: 'google/g',
    max_tokens: 90,
    thinking: { type: 'adaptive' },
    messages: [{ role: 'user', content: 'Hi' }],
  },
  'generate-content': { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
};

/** The next request of a client that keeps what it received, as its SDK does. */
function buildNextBody(client: Wire, said: Record<string, unknown>): object {
  const first = opening[client];
  const toList = <Value>(value: Value | undefined): Value[] => (Array.isArray(value) ? value : []);
  const next: Readonly<Record<Wire, () => object>> = {
    'chat-completions': () => ({
      ...first,
      messages: [
        { role: 'user', content: 'Hi' },
        Object(toList(said.choices)[0]).message,
        { role: 'user', content: 'Go on' },
      ],
    }),
    responses: () => ({
      ...first,
      input: [{ role: 'user', content: 'Hi' }, ...toList(said.output), { role: 'user', content: 'Go on' }],
    }),
    messages: () => ({
      ...first,
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: said.content },
        { role: 'user', content: 'Go on' },
      ],
    }),
    'generate-content': () => ({
      contents: [
        { role: 'user', parts: [{ text: 'Hi' }] },
        Object(toList(said.candidates)[0]).content,
        { role: 'user', parts: [{ text: 'Go on' }] },
      ],
    }),
  };
  return next[client]();
}

describe.each(wires)('a %s client', (client) => {
  const { client: side } = families[client].protocol;
  const call = readCall(client, opening[client]);
  const events = google.protocol.upstream.decodeReply(reply, call, google.model);
  const said: unknown = JSON.parse(
    JSON.stringify(side.encodeReply(events, { id: 'k1', model: 'google/g', created: 1, call })),
  );
  const request = readCall(client, buildNextBody(client, Object(said))).decode();

  it("returns Google's signature on the same text", () => {
    const { body } = google.protocol.upstream.encodeRequest(request, google.model, undefined);
    expect(JSON.parse(JSON.stringify(body))).toMatchObject({
      contents: [{}, { role: 'model', parts: [{ text: 'Ahoy.', thoughtSignature: seal }] }, {}],
    });
  });

  it.each(wires.filter((wire) => wire !== 'generate-content' && wire !== client))(
    'sends it to no provider of %s, and gets a report of the loss',
    (wire) => {
      const { protocol, model } = families[wire];
      const { body, losses } = protocol.upstream.encodeRequest(request, model, undefined);
      expect(JSON.stringify(body)).not.toContain(seal);
      expect(losses.map(({ code }) => code)).toEqual(['state']);
    },
  );
});
