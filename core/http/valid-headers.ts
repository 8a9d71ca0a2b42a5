/** Checks that Node can send a head. Otherwise it throws in the middle of a reply. */
import { getMessage } from '../util/errors.ts';
import { validateHeaderName, validateHeaderValue } from './node-http.ts';

/** What is wrong with headers; undefined if they can be sent. */
export function findHeaderFault(headers: object): string | undefined {
  try {
    for (const [name, value] of Object.entries(headers)) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
    return undefined;
  } catch (error) {
    return getMessage(error);
  }
}

/** True for a final status, from 200 to 599. */
export function isStatus(status: unknown): boolean {
  return typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599;
}
