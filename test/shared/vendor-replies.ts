/** Error replies of each family of protocols, how it decodes them and encodes ours. */
import type { GatewayError } from '../../core/index.ts';
import {
  decodeError as decodeMessages,
  encodeError as encodeMessages,
} from '../../plugins/protocols/messages/encoding.ts';
import {
  decodeError as decodeGoogle,
  encodeError as encodeGoogle,
} from '../../plugins/shared/google/errors.ts';
import {
  decodeError as decodeOpenai,
  encodeError as encodeOpenai,
} from '../../plugins/shared/openai/errors.ts';

export type Family = 'openai' | 'messages' | 'google';
export const decoders = { openai: decodeOpenai, messages: decodeMessages, google: decodeGoogle };

export const encoders = {
  openai: encodeOpenai,
  messages: (error: GatewayError) => encodeMessages(error, 'id-1'),
  google: (error: GatewayError) => encodeGoogle(error),
};

function buildBody(family: Family, status: number, message: string, more: object = {}): object {
  if (family === 'openai')
    return { error: { message, type: 'invalid_request_error', param: null, code: null, ...more } };
  if (family === 'messages')
    return { type: 'error', error: { type: 'not_found_error', message, ...more }, request_id: 'req_1' };
  return { error: { code: status, message, status: 'NOT_FOUND', ...more } };
}

export function decode(family: Family, status: number, message: string, more: object = {}): GatewayError {
  return decoders[family](status, JSON.stringify(buildBody(family, status, message, more)));
}
