/** Which fields of this wire a model's vendor takes: some refuse a call for any that they do not know. */
import type { Model } from '../../../core/index.ts';
import { chatFlags } from '../../shared/wire-kit/chat-flags.ts';

/** Whether a call with this field is refused, of the request or of its messages. */
export function refuses({ capabilities }: Pick<Model, 'capabilities'>, field: string): boolean {
  return chatFlags(capabilities).fields[field] === null;
}
