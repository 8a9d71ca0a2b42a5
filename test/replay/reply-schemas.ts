/** Holds replies against the gateway's own description at `/openapi.json`. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Wire } from '../support/families.ts';
import { isObject } from '../support/json.ts';

/** What is wrong with a reply, or with one event of a stream; undefined where nothing is. */
export type ReplyCheck = (client: Wire, streamed: boolean, message: unknown) => string | undefined;

const paths: Readonly<Record<Wire, (streamed: boolean) => string>> = {
  'chat-completions': () => '/v1/chat/completions',
  responses: () => '/v1/responses',
  messages: () => '/alpha/v1/messages',
  'generate-content': (streamed) =>
    `/beta/v1beta/models/{model}:${streamed ? 'streamGenerateContent' : 'generateContent'}`,
};

const buildPointer = (steps: readonly string[]): string =>
  steps
    .map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1'))
    .map(encodeURIComponent)
    .join('/');

export async function createReplyCheck(url: string): Promise<ReplyCheck> {
  const document: unknown = await (await fetch(`${url}/openapi.json`)).json();
  if (!isObject(document)) throw new Error('/openapi.json is no object');
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'document', false, false);
  return (client, streamed, message) => {
    const type = streamed ? 'text/event-stream' : 'application/json';
    const place = buildPointer([
      'paths',
      paths[client](streamed),
      'post',
      'responses',
      '200',
      'content',
      type,
      'schema',
    ]);
    const validate = ajv.getSchema(`document#/${place}`);
    if (!validate) throw new Error(`/openapi.json says nothing of ${place}`);
    if (validate(message)) return undefined;
    const [fault] = validate.errors ?? [];
    return `${fault?.instancePath ?? ''} ${fault?.message ?? ''}`;
  };
}
