import { describe, expect, it } from 'vitest';
import { pixel } from '../support/vendor/improvise.ts';
import {
  old,
  current,
  buildPath,
  turn,
  user,
  good,
  callTool,
  answerCall,
  say,
  vendor,
  call,
  useGoogle,
} from './generate-content-requests.ts';

useGoogle();

describe('the fake Google, asked something unusual', () => {
  it('accepts either spelling or base64 alphabet, a key in the query and a part without a list', async () => {
    const request = {
      contents: {
        parts: {
          inline_data: { mime_type: 'image/png', data: pixel.replaceAll('+', '-').replaceAll('/', '_') },
        },
      },
      generation_config: { max_output_tokens: 50, responseMimeType: 'text/plain' },
    };
    expect(
      await call(request, { path: `${buildPath(old)}?key=${vendor.key}`, headers: { 'x-goog-api-key': '' } }),
    ).toMatchObject({ status: 200 });
  });

  it.each(['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go'])(
    'accepts the placeholder %s in place of a signature',
    async (thoughtSignature) => {
      const contents = say(
        turn('model', callTool('find', { thoughtSignature }), callTool()),
        turn('user', answerCall(), answerCall()),
      );
      expect(await call(contents, { path: buildPath(current) })).toMatchObject({ status: 200 });
    },
  );

  it('accepts calls of earlier turns without signatures, and media in function responses', async () => {
    const parts = [{ inlineData: { mimeType: 'image/png', data: pixel, displayName: 'a.png' } }];
    const earlier = say(
      turn('model', callTool()),
      turn('user', answerCall('find', { parts, response: { picture: { $ref: 'a.png' } } })),
      turn('model', { text: 'a' }),
      user,
    );
    expect(await call(earlier, { path: buildPath(current) })).toMatchObject({ status: 200 });
  });

  it('accepts fields of Vertex under a project path', async () => {
    const path = `/v1beta1/projects/p/locations/global/publishers/google/models/${old}:generateContent`;
    expect(
      await call(
        { ...good, labels: { a: 'b' } },
        { path, headers: { 'x-goog-api-key': '', authorization: `Bearer ${vendor.key}` } },
      ),
    ).toMatchObject({ status: 200 });
  });
});
