/** A document without a name is named by its type if a provider requires a name. */
import { expect, it } from 'vitest';
import { families, readCall } from '../support/families.ts';

const sheet = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

function nameDocument(wire: 'chat-completions' | 'responses', mimeType: string, data = 'UEsDBA=='): string {
  const { protocol, model } = families[wire];
  const call = readCall('generate-content', { contents: [{ parts: [{ inlineData: { mimeType, data } }] }] });
  return JSON.stringify(protocol.upstream.encodeRequest(call.decode(), model, undefined).body).replace(
    /^.*"filename":"([^"]*)".*$/,
    '$1',
  );
}

it.each([
  ['application/pdf', 'document.pdf'],
  [sheet, 'document.xlsx'],
  ['application/msword', 'document.doc'],
  ['application/x-unheard-of', 'document'],
])('a document of %s is called %s', (type, name) => {
  expect(nameDocument('chat-completions', type)).toBe(name);
  expect(nameDocument('responses', type)).toBe(name);
});

it('a document without a type is recognised by its first bytes', () => {
  const content = [{ type: 'file', file: { file_data: 'JVBERi0x' } }];
  const { protocol, model } = families.responses;
  const { body } = protocol.upstream.encodeRequest(
    readCall('chat-completions', { model: 'a/b', messages: [{ role: 'user', content }] }).decode(),
    model,
    undefined,
  );
  expect(JSON.stringify(body)).toContain('"filename":"document.pdf"');
});
